"""`spec.kubelet` of an EC2NodeClass: what is taken, what is refused, under which reason and in which words.

Source of each row: Karpenter's checks of the kubelet block (karpenter.k8s.aws/v1): its strict reading of
KubeletConfiguration (kubelet.config.k8s.io/v1beta1), its bounds, and what each AMI family can say.
"""

from typing import Any

import pytest

from daiku.api import wire_kubelet
from daiku.cloud.aws import families, kubelet

INVALID, UNSUPPORTED = kubelet.INVALID, kubelet.UNSUPPORTED
DISABLED = kubelet.EXPRESSIONS_DISABLED
EVERYTHING: dict[str, Any] = {
    "clusterDNS": ["10.0.0.10"],
    "maxPods": 20,
    "podsPerCore": 3,
    "systemReserved": {"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi", "pid": "100"},
    "kubeReserved": {"cpu": "100m"},
    "evictionHard": {"memory.available": "5%", "nodefs.inodesFree": "10%"},
    "evictionSoft": {"imagefs.available": "1Gi"},
    "evictionSoftGracePeriod": {"imagefs.available": "1m30s"},
    "evictionMaxPodGracePeriod": 60,
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "cpuCFSQuota": False,
}
TAKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("AL2023", {}),
    "every setting that is mapped": ("AL2", EVERYTHING),
    "any other setting on AL2023": ("AL2023", {"shutdownGracePeriod": "30s", "podPidsLimit": 4096}),
    "nested settings on AL2023": ("AL2023", {"authentication": {"webhook": {"cacheTTL": "2m"}}}),
    "any other setting on Custom": ("Custom", {"serializeImagePulls": False}),
    "two DNS addresses on AL2023": ("AL2023", {"clusterDNS": ["10.0.0.10", "10.0.0.11"]}),
    "settings that are new in 1.36": (
        "AL2023",
        {"tlsCurvePreferences": [29], "memoryReservationPolicy": "TieredReservation"},
    ),
    "no pods at all": ("AL2023", {"maxPods": 0}),
    "a threshold of 0%": ("AL2023", {"evictionHard": {"memory.available": "0%"}}),
    "a threshold of 100%": ("AL2023", {"evictionHard": {"memory.available": "100%"}}),
    "a reclaim": ("AL2023", {"evictionMinimumReclaim": {"nodefs.available": "1Gi"}}),
    "one garbage threshold alone": ("AL2023", {"imageGCHighThresholdPercent": 10}),
    "podsPerCore on Windows": ("Windows2022", {"podsPerCore": 3}),
}
REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "an unknown setting": ("AL2023", {"maxPod": 5}, INVALID, "maxPod"),
    "an unknown nested setting": ("AL2023", {"authentication": {"x": 1}}, INVALID, "unknown field `x`"),
    "a text for a truth": ("AL2023", {"cpuCFSQuota": "no"}, INVALID, "kubelet.cpuCFSQuota"),
    "a number for a quantity": ("AL2023", {"kubeReserved": {"cpu": 1}}, INVALID, "kubelet.kubeReserved"),
    "a fraction of pods": ("AL2023", {"maxPods": 1.5}, INVALID, "kubelet.maxPods"),
    "more pods than can be counted": ("AL2023", {"maxPods": 2**31}, INVALID, "kubelet.maxPods"),
    "a duration without a unit": ("AL2023", {"syncFrequency": "5"}, INVALID, "kubelet.syncFrequency"),
    "taints": ("AL2023", {"registerWithTaints": []}, INVALID, "use taints of the NodePool"),
    "a negative maxPods": ("AL2023", {"maxPods": -1}, INVALID, "maxPods is -1"),
    "a negative podsPerCore": ("AL2023", {"podsPerCore": -1}, INVALID, "podsPerCore is -1"),
    "a negative grace": ("AL2023", {"evictionMaxPodGracePeriod": -1}, INVALID, "GracePeriod is -1"),
    "a garbage threshold of 101": ("AL2023", {"imageGCHighThresholdPercent": 101}, INVALID, "from 0 to 100"),
    "a negative garbage threshold": ("AL2023", {"imageGCLowThresholdPercent": -1}, INVALID, "from 0 to 100"),
    "garbage thresholds that are equal": (
        "AL2023", {"imageGCHighThresholdPercent": 50, "imageGCLowThresholdPercent": 50}, INVALID, "more than",
    ),
    "a reserve of something else": ("AL2023", {"systemReserved": {"gpu": "1"}}, INVALID, "systemReserved.gpu"),
    "a negative reserve": ("AL2023", {"kubeReserved": {"memory": "-1Gi"}}, INVALID, "may not be negative"),
    "an unknown signal": ("AL2023", {"evictionHard": {"memory": "5%"}}, INVALID, "evictionHard.memory"),
    "a threshold of 101%": ("AL2023", {"evictionHard": {"memory.available": "101%"}}, INVALID, "from 0% to 100%"),
    "a negative share": ("AL2023", {"evictionHard": {"memory.available": "-1%"}}, INVALID, "from 0% to 100%"),
    "a share of a word": ("AL2023", {"evictionHard": {"memory.available": "x%"}}, INVALID, "must be a percentage"),
    "a threshold of a word": ("AL2023", {"evictionHard": {"memory.available": "x"}}, INVALID, "must be a quantity"),
    "a negative threshold": ("AL2023", {"evictionHard": {"memory.available": "-1Gi"}}, INVALID, "not be negative"),
    "a soft threshold without grace": (
        "AL2023", {"evictionSoft": {"memory.available": "5%"}}, INVALID, "needs an evictionSoftGracePeriod",
    ),
    "grace without a soft threshold": (
        "AL2023", {"evictionSoftGracePeriod": {"memory.available": "1m"}}, INVALID, "needs an evictionSoft",
    ),
    "a grace of a word": (
        "AL2023",
        {"evictionSoft": {"pid.available": "5%"}, "evictionSoftGracePeriod": {"pid.available": "soon"}},
        INVALID, "must be a duration",
    ),
    "a negative grace period": (
        "AL2023",
        {"evictionSoft": {"pid.available": "5%"}, "evictionSoftGracePeriod": {"pid.available": "-1m"}},
        INVALID, "may not be negative",
    ),
    "an unmapped setting on AL2": ("AL2", {"podPidsLimit": 4096}, UNSUPPORTED, "podPidsLimit"),
    "an unmapped setting on Bottlerocket": ("Bottlerocket", {"seccompDefault": True}, UNSUPPORTED, "seccompDefault"),
    "an unmapped setting on Windows": ("Windows2019", {"maxOpenFiles": 5}, UNSUPPORTED, "maxOpenFiles"),
    "podsPerCore on Bottlerocket": ("Bottlerocket", {"podsPerCore": 3}, UNSUPPORTED, "use maxPods"),
    "two DNS addresses on AL2": ("AL2", {"clusterDNS": ["10.0.0.10", "10.0.0.11"]}, UNSUPPORTED, "one address"),
    "an expression for maxPods": ("AL2023", {"maxPods": "vcpus * 10"}, DISABLED, "maxPods"),
    "maxPods as a text": ("AL2023", {"maxPods": "10"}, DISABLED, "maxPods"),
    "an expression for a reserve": ("AL2023", {"kubeReserved": {"cpu": "vcpus * 60"}}, DISABLED, "kubeReserved.cpu"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_is_taken(name: str) -> None:
    family, config = TAKEN[name]

    assert kubelet.problems(config, families.BY_NAME[family]) == []
    assert wire_kubelet.problem(config) == ""


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_in_words_that_name_the_mistake(name: str) -> None:
    family, config, reason, words = REFUSED[name]

    found = kubelet.problems(config, families.BY_NAME[family])

    assert {r for r, _ in found} == {reason}
    assert words in "; ".join(sentence for _, sentence in found)


def test_every_mistake_is_told_at_once() -> None:
    config = {"maxPods": -1, "kubeReserved": {"gpu": "1"}, "evictionHard": {"memory.available": "x"}}  # fmt: skip

    found = kubelet.problems(config, families.BY_NAME["AL2023"])

    assert [sentence.split(" ")[0] for _, sentence in found] == [
        "kubelet.maxPods",
        "kubelet.kubeReserved.gpu:",
        "kubelet.evictionHard.memory.available",
    ]
