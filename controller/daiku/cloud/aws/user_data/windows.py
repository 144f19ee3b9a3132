"""Windows: one PowerShell script, the user's lines first and then the image's bootstrap.

Source: EKS's Windows images, Start-EKSBootstrap.ps1; Karpenter's merge rules for Windows.
"""

from daiku.cloud.aws.user_data import kubelet_flags
from daiku.cloud.aws.user_data.boot import Boot, Malformed


def render(boot: Boot) -> str:
    """The whole script.

    Raises:
        Malformed: The user's lines cannot stand inside it.
    """
    cluster = boot.cluster
    bootstrap = (
        '& "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"'
        f" -EKSClusterName '{cluster.name}'"
        f" -APIServerEndpoint '{cluster.endpoint}'"
        f" -Base64ClusterCA '{cluster.certificate_authority}'"
        f" -KubeletExtraArgs '{kubelet_flags.of(boot)}'"
        f" -DNSClusterIP '{boot.dns_addresses[0]}'"
    )
    return "\n".join(["<powershell>", *parse(boot.user_data), bootstrap, "</powershell>", ""])


def parse(users: str) -> list[str]:
    """The user's lines.

    Raises:
        Malformed: They hold the tags that we put around them.
    """
    if "<powershell>" in users.lower() or "</powershell>" in users.lower():
        raise Malformed("it is put between <powershell> and </powershell>: leave the tags out")
    return [users.rstrip("\n")] if users.strip() else []
