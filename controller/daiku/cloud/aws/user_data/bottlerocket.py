"""Bottlerocket: settings in TOML, the user's with ours over them.

What decides whether and how the node joins is ours alone; labels are merged; settings of other sections are the
user's. Keys of settings.kubernetes that Bottlerocket would not know are left out: it refuses to boot with them.

Source: Bottlerocket's settings reference; Karpenter's merge rules for Bottlerocket.
"""

import tomllib
from collections.abc import Mapping
from typing import Any, Final, cast

import tomli_w

from daiku.cloud.aws.answers import part
from daiku.cloud.aws.user_data.boot import Boot, Malformed

Json = dict[str, Any]

_NAMES: Final = (
    "api-server cloud-provider cluster-certificate cluster-name cluster-dns-ip credential-providers node-labels "
    "node-taints max-pods static-pods eviction-hard eviction-soft eviction-soft-grace-period "
    "eviction-max-pod-grace-period kube-reserved system-reserved allowed-unsafe-sysctls server-tls-bootstrap "
    "registry-qps registry-burst event-qps event-burst kube-api-qps kube-api-burst container-log-max-size "
    "container-log-max-files container-log-max-workers container-log-monitor-interval cpu-manager-policy "
    "cpu-manager-policy-options cpu-manager-reconcile-period memory-manager-policy memory-manager-reserved-memory "
    "topology-manager-scope topology-manager-policy topology-manager-policy-options "
    "image-gc-high-threshold-percent image-gc-low-threshold-percent ids-per-pod cpu-cfs-quota-enforced "
    "shutdown-grace-period shutdown-grace-period-for-critical-pods cluster-domain seccomp-default pod-pids-limit "
    "device-ownership-from-security-context single-process-oom-kill hostname-override-source log-level"
)
KNOWN: Final = frozenset(_NAMES.split())
"""Keys of settings.kubernetes."""
RENAMED: Final = {
    "systemReserved": "system-reserved",
    "kubeReserved": "kube-reserved",
    "evictionHard": "eviction-hard",
    "evictionSoft": "eviction-soft",
    "evictionSoftGracePeriod": "eviction-soft-grace-period",
    "evictionMaxPodGracePeriod": "eviction-max-pod-grace-period",
    "cpuCFSQuota": "cpu-cfs-quota-enforced",
}
"""Setting of the kubelet -> key of settings.kubernetes with the same value."""
AS_TEXT: Final = {
    "imageGCHighThresholdPercent": "image-gc-high-threshold-percent",
    "imageGCLowThresholdPercent": "image-gc-low-threshold-percent",
}
"""The same, where Bottlerocket wants the number as text."""
MOUNT: Final = "000-mount-instance-storage"
BINDS_BY_ITSELF: Final = (1, 46)
"""From this release on `ephemeral-storage bind` knows what to bind."""
BOUND: Final = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")


def render(boot: Boot) -> str:
    """The whole settings.

    Raises:
        Malformed: The user's part is no TOML.
    """
    document = parse(boot.user_data)
    settings: Json = document.setdefault("settings", {})
    known: Json = settings.get("kubernetes") or {}
    settings["kubernetes"] = {k: v for k, v in known.items() if k in KNOWN} | _ours(boot, known)
    if boot.raid0:
        commands: Json = settings.setdefault("bootstrap-commands", {})
        commands[MOUNT] = _mount(boot.image_version)
    return tomli_w.dumps(document)


def parse(users: str) -> Json:
    """The user's settings.

    Raises:
        Malformed: They are no TOML, or `settings` is no table.
    """
    try:
        found = tomllib.loads(users)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(f"it is not TOML, which Bottlerocket reads: {error}") from None
    for path in (("settings",), ("settings", "kubernetes"), ("settings", "bootstrap-commands")):
        table: Any = found
        for name in path:
            table = cast("Json", table).get(name, {})
        if not isinstance(table, dict):
            raise Malformed(f"{'.'.join(path)} is {table!r}; it must be a table")
    labels: Any = part(part(found, "settings"), "kubernetes").get("node-labels", {})
    if not isinstance(labels, dict):
        raise Malformed(f"settings.kubernetes.node-labels is {labels!r}; it must be a table")
    return found


def binds_by_itself(version: str) -> bool:
    """Whether `ephemeral-storage bind` of this release needs no list of folders."""
    if version == "latest":
        return True
    numbers = version.removeprefix("v").split(".")
    if len(numbers) < 3 or not (numbers[0].isdecimal() and numbers[1].isdecimal()):
        return False
    return (int(numbers[0]), int(numbers[1])) >= BINDS_BY_ITSELF


def _ours(boot: Boot, users: Mapping[str, Any]) -> Json:
    config, cluster = boot.kubelet, boot.cluster
    taints: dict[str, list[str]] = {}
    for taint in boot.all_taints:
        taints.setdefault(taint.key, []).append(f"{taint.value}:{taint.effect}")
    return {
        "api-server": cluster.endpoint,
        "cluster-certificate": cluster.certificate_authority,
        "cluster-name": cluster.name,
        "cluster-dns-ip": boot.dns_addresses[0],
        "max-pods": boot.pods_max,
        **{key: config[name] for name, key in RENAMED.items() if config.get(name) is not None},
        **{key: str(config[name]) for name, key in AS_TEXT.items() if config.get(name) is not None},
        "node-labels": {**part(users, "node-labels"), **boot.own_labels},
        "node-taints": taints,
    }


def _mount(version: str) -> Json:
    folders = [] if binds_by_itself(version) else ["--dirs", *BOUND]
    return {
        "commands": [
            ["apiclient", "ephemeral-storage", "init"],
            ["apiclient", "ephemeral-storage", "bind", *folders],
        ],
        "mode": "always",
        "essential": True,
    }
