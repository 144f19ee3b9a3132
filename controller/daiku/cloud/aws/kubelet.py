"""What of `spec.kubelet` no machine could be made with, each mistake in a sentence and under Karpenter's reason.

The schema takes any object there; what is wrong with it is said in the condition ValidationSucceeded. All mistakes are
said at once, so that a person mends them in one go.

Source: Karpenter's validation of the kubelet block of an EC2NodeClass (karpenter.k8s.aws/v1).
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, cast

from daiku import reasons
from daiku.api import wire_kubelet
from daiku.cloud.aws.answers import part, words
from daiku.cloud.aws.families import Family
from daiku.model import units
from daiku.reason import Reason

Json = Mapping[str, Any]
Problem = tuple[Reason, str]
"""(reason of the condition, sentence)."""

INVALID: Final = reasons.INVALID_KUBELET
UNSUPPORTED: Final = reasons.UNSUPPORTED_KUBELET
EXPRESSIONS_DISABLED: Final = reasons.KUBELET_EXPRESSIONS_DISABLED

MAPPED: Final = frozenset(
    {
        "clusterDNS",
        "maxPods",
        "podsPerCore",
        "systemReserved",
        "kubeReserved",
        "evictionHard",
        "evictionSoft",
        "evictionSoftGracePeriod",
        "evictionMaxPodGracePeriod",
        "imageGCHighThresholdPercent",
        "imageGCLowThresholdPercent",
        "cpuCFSQuota",
    }
)
"""Settings that every family's user data can say; others only reach a kubelet that reads a whole configuration."""
RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage", "pid")
SIGNALS: Final = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
"""What evictions watch."""


def problems(config: Json, family: Family) -> list[Problem]:
    """Everything that is wrong with the settings for machines of this family."""
    if expressions := _expressions(config):
        remedy = "expressions are not evaluated: write a plain number or quantity"
        return [
            (EXPRESSIONS_DISABLED, f"kubelet.{name} is {value!r}; {remedy}")
            for name, value in expressions.items()
        ]
    if sentence := wire_kubelet.problem(config):
        return [(INVALID, sentence)]
    invalid = [*_counts(config), *_reserved(config), *_evictions(config)]
    if "registerWithTaints" in config:
        invalid.insert(0, "kubelet.registerWithTaints is set by Daiku: use taints of the NodePool")
    return [(INVALID, s) for s in invalid] + [(UNSUPPORTED, s) for s in _foreign(config, family)]


def _expressions(config: Json) -> dict[str, str]:
    """What is written where Karpenter's alpha gate NodeClassCEL lets an expression stand."""
    found: dict[str, str] = {}
    if isinstance(config.get("maxPods"), str):
        found["maxPods"] = config["maxPods"]
    for name in ("kubeReserved", "systemReserved"):
        given: Any = config.get(name)
        if isinstance(given, Mapping):
            amounts = cast("Json", given)
            found |= {
                f"{name}.{resource}": value
                for resource, value in amounts.items()
                if isinstance(value, str) and not value.startswith("-") and _not_quantity(value)
            }
    return found


def _counts(config: Json) -> Iterator[str]:
    for name in ("maxPods", "podsPerCore", "evictionMaxPodGracePeriod"):
        if (config.get(name) or 0) < 0:
            yield f"kubelet.{name} is {config[name]}; it must be 0 or more"
    high = config.get("imageGCHighThresholdPercent")
    low = config.get("imageGCLowThresholdPercent")
    for name, value in (("High", high), ("Low", low)):
        if value is not None and not 0 <= value <= 100:
            yield f"kubelet.imageGC{name}ThresholdPercent is {value}; it must be from 0 to 100"
    if high is not None and low is not None and high <= low:
        yield (
            f"kubelet.imageGCHighThresholdPercent is {high}; it must be more than "
            f"imageGCLowThresholdPercent, which is {low}"
        )


def _reserved(config: Json) -> Iterator[str]:
    for name in ("kubeReserved", "systemReserved"):
        for resource, quantity in part(config, name).items():
            if resource not in RESERVABLE:
                yield f"kubelet.{name}.{resource}: only {_or(RESERVABLE)} can be reserved"
            elif quantity.startswith("-"):
                yield f"kubelet.{name}.{resource} is {quantity}; it may not be negative"


def _evictions(config: Json) -> Iterator[str]:
    for name in ("evictionHard", "evictionSoft", "evictionMinimumReclaim"):
        for signal, threshold in part(config, name).items():
            yield from _signal(name, signal)
            if wrong := _threshold_problem(threshold):
                yield f"kubelet.{name}.{signal} is {threshold!r}; {wrong}"
    for signal, period in part(config, "evictionSoftGracePeriod").items():
        yield from _signal("evictionSoftGracePeriod", signal)
        if wrong := _period_problem(period):
            yield f"kubelet.evictionSoftGracePeriod.{signal} is {period!r}; {wrong}"
    soft, grace = part(config, "evictionSoft"), part(config, "evictionSoftGracePeriod")
    for signal in soft:
        if signal not in grace:
            yield f"kubelet.evictionSoft.{signal} needs an evictionSoftGracePeriod"
    for signal in grace:
        if signal not in soft:
            yield f"kubelet.evictionSoftGracePeriod.{signal} needs an evictionSoft"


def _signal(name: str, signal: str) -> Iterator[str]:
    if signal not in SIGNALS:
        yield f"kubelet.{name}.{signal}: there are only {_or(SIGNALS)}"


def _threshold_problem(text: str) -> str:
    if text.endswith("%"):
        try:
            share = float(text.removesuffix("%"))
        except ValueError:
            return "it must be a percentage such as 5%, or a quantity"
        return "" if 0 <= share <= 100 else "a percentage must be from 0% to 100%"
    if _not_quantity(text):
        return "it must be a quantity such as 100Mi, or a percentage"
    return "it may not be negative" if text.startswith("-") else ""


def _period_problem(text: str) -> str:
    try:
        period = units.parse_duration(text)
    except ValueError:
        return "it must be a duration such as 1m30s"
    return "it may not be negative" if period < timedelta(0) else ""


def _foreign(config: Json, family: Family) -> Iterator[str]:
    """Settings that the family's user data cannot carry."""
    if not family.owns_user_data:
        return
    if not family.any_kubelet_setting:
        for name in sorted(config.keys() - MAPPED):
            yield f"kubelet.{name} cannot be set on {family.name}: use AL2023, or take it out"
        if len(words(config, "clusterDNS")) > 1:
            yield f"kubelet.clusterDNS: {family.name} takes one address only"
    if not family.pods_per_core and config.get("podsPerCore"):
        yield f"kubelet.podsPerCore cannot be set on {family.name}: use maxPods"


def _not_quantity(text: str) -> bool:
    try:
        units.parse_bytes_or_count(text)
    except ValueError:
        return True
    return False


def _or(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
