"""Amazon Linux 2: a script calls the image's bootstrap.sh, after the user's own parts of the MIME message.

Source: awslabs/amazon-eks-ami, bootstrap.sh; Karpenter's merge rules for AL2.
"""

from collections.abc import Iterator

from daiku.cloud.aws.user_data import kubelet_flags, mime
from daiku.cloud.aws.user_data.boot import Boot


def render(boot: Boot) -> str:
    """The whole message.

    Raises:
        Malformed: The user's part cannot be read.
    """
    script = " \\\n".join(_bootstrap(boot))
    ours = (
        "#!/bin/bash -xe\n"
        "exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n"
        f"{script}\n"
    )
    return mime.compose([*parse(boot.user_data), mime.Part(mime.SHELL, ours)])


def parse(users: str) -> list[mime.Part]:
    """The user's documents: those of a MIME message, or else a script.

    Raises:
        Malformed: The message cannot be read.
    """
    text = users.replace("\r", "")
    if not text.strip():
        return []
    return mime.parse(text) if mime.is_mime(text) else [mime.Part(mime.SHELL, text)]


def _bootstrap(boot: Boot) -> Iterator[str]:
    cluster = boot.cluster
    yield (
        f"/etc/eks/bootstrap.sh '{cluster.name}' --apiserver-endpoint '{cluster.endpoint}' "
        f"--b64-cluster-ca '{cluster.certificate_authority}'"
    )
    if cluster.is_ipv6:
        yield "--ip-family ipv6"
    yield f"--dns-cluster-ip '{boot.dns_addresses[0]}'"
    yield "--use-max-pods false"
    yield f"--kubelet-extra-args '{kubelet_flags.of(boot)}'"
    if boot.raid0:
        yield "--local-disks raid0"
