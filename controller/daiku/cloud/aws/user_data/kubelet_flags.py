"""Settings of a kubelet as its command line says them, for families whose boot script takes extra arguments.

Source: kubelet's flags, in the order in which Karpenter writes them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from daiku.cloud.aws.answers import part
from daiku.cloud.aws.user_data.boot import Boot

MAPS: Final = (
    ("systemReserved", "system-reserved", "="),
    ("kubeReserved", "kube-reserved", "="),
    ("evictionHard", "eviction-hard", "<"),
    ("evictionSoft", "eviction-soft", "<"),
    ("evictionSoftGracePeriod", "eviction-soft-grace-period", "="),
)
"""(setting, flag, what stands between a key and its value)."""
SCALARS: Final = (
    ("evictionMaxPodGracePeriod", "eviction-max-pod-grace-period"),
    ("imageGCHighThresholdPercent", "image-gc-high-threshold"),
    ("imageGCLowThresholdPercent", "image-gc-low-threshold"),
    ("cpuCFSQuota", "cpu-cfs-quota"),
)


def of(boot: Boot) -> str:
    """The arguments, separated by spaces; values that a shell would look into are in double quotes."""
    return " ".join(_flags(boot))


def _flags(boot: Boot) -> Iterator[str]:
    config = boot.kubelet
    if found := boot.own_labels:
        yield f'--node-labels="{_pairs(found, "=")}"'
    taints = ",".join(f"{t.key}={t.value}:{t.effect}" for t in boot.all_taints)
    yield f'--register-with-taints="{taints}"'
    yield f"--max-pods={boot.pods_max}"
    for setting, flag, between in MAPS:
        if found := part(config, setting):
            yield f'--{flag}="{_pairs(found, between)}"'
    for setting, flag in SCALARS:
        value: Any = config.get(setting)
        if value is not None:
            yield f"--{flag}={str(value).lower()}"


def _pairs(found: Mapping[str, Any], between: str) -> str:
    return ",".join(f"{key}{between}{value}" for key, value in sorted(found.items()))
