"""Which pods run here as processes, and what such a process is given.

A local image has no file system and no init containers: one container, whose entry point is a
program of this machine. What a process here could not have is refused in the pod's status,
never left out in silence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daiku_local.agent import environment
from daiku_local.agent.environment import PodConfigError, Surroundings
from daiku_local.agent.objects import Json, dig, items, mapping
from daiku_local.agent.settings import LOCAL_REGISTRY

ROLE_ANNOTATION = "eks.amazonaws.com/role-arn"
"""On a ServiceAccount: the IAM role that its pods assume through their token (IRSA)."""
AUDIENCE_ANNOTATION = "eks.amazonaws.com/audience"
PASSED_ON = ("TZ", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE")
"""Names of the agent's variables that a process keeps; everything else of it stays behind."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Names one pod; a new pod of the same name has another uid."""

    namespace: str
    """Its namespace."""
    name: str
    """Its name."""
    uid: str
    """Its uid."""

    @property
    def path(self) -> str:
        """Where the API server keeps it."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The laptop's side of a process: where the cloud is, and where its own files are."""

    inherited: Mapping[str, str]
    """Variables that the agent passes on: time zone, language, and whom to trust in TLS."""
    aws_endpoint: str
    """URL of the stand-in AWS."""
    region: str
    """AWS region."""
    program_folder: Path
    """Folder of this installation's programs."""
    home: Path
    """Home and working folder of the process; nobody else's files, above all no AWS profile."""
    kubeconfig: Path | None
    """File that tells where the API server is and which token to show; None without a token."""
    web_identity_token: Path | None
    """File with the token for AWS, for a ServiceAccount with a role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to start."""

    arguments: Sequence[str]
    """Program and arguments."""
    variables: Mapping[str, str]
    """The whole environment."""


def key(pod: Json) -> Key:
    """Name and uid of a pod object."""
    found = mapping(pod, "metadata")
    return Key(namespace=found["namespace"], name=found["name"], uid=found["uid"])


def is_local(pod: Json) -> bool:
    """Whether a pod runs here as a process: it is bound to a node, and its image is a local one."""
    image = dig(pod, "spec", "containers", 0, "image") or ""
    return bool(dig(pod, "spec", "nodeName")) and str(image).startswith(LOCAL_REGISTRY)


def image_name(image: str) -> str:
    """An image reference without its tag and digest."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def container(pod: Json) -> Json:
    """The one container of a local pod.

    Raises:
        PodConfigError: It has others, which nobody would run.
    """
    names = [
        dig(each, "name")
        for field in ("initContainers", "containers")
        for each in items(pod, "spec", field)
    ]
    if len(names) != 1:
        raise PodConfigError(
            f"a pod of a local image has one container; this one has {', '.join(names)}"
        )
    return mapping(pod, "spec", "containers", 0)


def entry_point(image: str, images: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The command of a local image.

    Raises:
        PodConfigError: There is no such image.
    """
    found = images.get(image_name(image))
    if found is None:
        known = ", ".join(sorted(images))
        raise PodConfigError(
            f"there is no local image {image_name(image)!r}: there are {known}", "ErrImageNeverPull"
        )
    return found


def role_arn(service_account: Json) -> str | None:
    """IAM role that pods of this ServiceAccount assume, if any."""
    return dig(service_account, "metadata", "annotations", ROLE_ANNOTATION)


def shows_token(pod: Json, service_account: Json) -> bool:
    """Whether the pod gets a token of its ServiceAccount; the pod's own word goes first."""
    for place in (mapping(pod, "spec"), service_account):
        wanted = place.get("automountServiceAccountToken")
        if wanted is not None:
            return bool(wanted)
    return True


def launch(
    pod: Json,
    service_account: Json,
    around: Surroundings,
    network: Network,
    images: Mapping[str, Sequence[str]],
) -> Launch:
    """Give what to start for a pod.

    Raises:
        PodConfigError: The manifest asks for what there is not.
    """
    only = container(pod)
    start = entry_point(only["image"], images)
    written = environment.variables(pod, only, around)
    # As EKS' webhook does: what the manifest sets itself is not replaced.
    written = _identity(service_account, network) | written
    return Launch(
        arguments=environment.command_line(only, start, written),
        variables=_base(pod, network) | written,
    )


def _base(pod: Json, network: Network) -> dict[str, str]:
    return (
        dict(network.inherited)
        | {
            "PATH": f"{network.program_folder}:{SYSTEM_PATH}",
            "HOME": str(network.home),
            "HOSTNAME": dig(pod, "spec", "hostname") or dig(pod, "metadata", "name"),
            "PYTHONUNBUFFERED": "1",
            "AWS_ENDPOINT_URL": network.aws_endpoint,
            # A pod does not reach its machine's credentials; nor must it reach those of a laptop that
            # is itself a machine in the cloud.
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        | ({"KUBECONFIG": str(network.kubeconfig)} if network.kubeconfig else {})
    )


def _identity(service_account: Json, network: Network) -> dict[str, str]:
    role = role_arn(service_account)
    if role is None or network.web_identity_token is None:
        return {}
    return {
        "AWS_ROLE_ARN": role,
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(network.web_identity_token),
        "AWS_REGION": network.region,
        "AWS_DEFAULT_REGION": network.region,
        "AWS_STS_REGIONAL_ENDPOINTS": "regional",
    }
