"""The table of options: each one's name, what it may be, its default and what it means.

Not here: where values come from and what is wrong with them together (`options`).
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from daiku.model import units

FEATURE_GATES: Final = {
    "NodeRepair": False,
    "ReservedCapacity": True,
    "SpotToSpotConsolidation": False,
    "NodeOverlay": False,
    "StaticCapacity": False,
    "CapacityBuffer": False,
}
"""Gates and their defaults."""
CLOUDS: Final = ("aws", "kwok")


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the table."""

    name: str
    """In the environment; the flag is the same in lower case with dashes."""
    default: str
    allowed: str
    """What values may be, for people."""
    parse: Callable[[str], Any]
    """Raises ValueError when the value is not allowed."""
    target: str
    """Field of Options, or settings.<field of Settings>; empty: known, and without effect here."""
    help: str

    @property
    def flag(self) -> str:
        """Such as --metrics-port."""
        return f"--{self.name.lower().replace('_', '-')}"


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ValueError
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError
    return int(text)


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def _factor(text: str) -> float:
    value = float(text)
    if not 1 <= value < float("inf"):
        raise ValueError
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise ValueError
    return value


def _truth(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError
    return text == "true"


def _duration(text: str) -> timedelta:
    value = units.parse_duration(text)
    if value <= timedelta(0):
        raise ValueError
    return value


def _address(text: str) -> str:
    return str(ipaddress.ip_address(text))


def _url(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not parts.netloc):
        raise ValueError
    return text


def _gates(text: str) -> dict[str, str]:
    chosen = {name: str(on).lower() for name, on in FEATURE_GATES.items()}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, value = (each.strip() for each in part.partition("="))
        if name not in FEATURE_GATES or value.lower() not in {"true", "false"}:
            raise ValueError
        chosen[name] = value.lower()
    return chosen


def _one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError
        return text

    return parse


def _matching(pattern: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError
        return text

    return parse


def _file(text: str) -> str:
    if text and not Path(text).is_file():
        raise ValueError
    return text


_DURATION = "a duration above 0, such as 10s"
_PORT = "1 to 65535"
_TRUTH = "true or false"
_NAME = "a name, or nothing"
_any_text = _matching(r"(?s).*")

TABLE: Final = (
    Option("CLOUD", "aws", "aws or kwok", _one_of(*CLOUDS), "cloud", "where nodes come from"),
    Option(
        "CLUSTER_NAME",
        "",
        "the EKS cluster's name, 1 to 100 characters",
        _matching(r"[0-9A-Za-z][A-Za-z0-9_.-]{0,99}|"),
        "settings.cluster_name",
        "required with --cloud aws",
    ),
    Option(
        "CLUSTER_ENDPOINT",
        "",
        "an http or https URL",
        _url,
        "cluster_endpoint",
        "API server as nodes see it; default: ask EKS",
    ),
    Option(
        "CLUSTER_CA_BUNDLE",
        "",
        "base64",
        _matching(r"[A-Za-z0-9+/=\s]*"),
        "cluster_ca_bundle",
        "CA of the API server; default: ask EKS",
    ),
    Option(
        "BIND_ADDRESS",
        "127.0.0.1",
        "an IP address",
        _address,
        "bind_address",
        "the only address listened on; default in a pod: $POD_IP",
    ),
    Option(
        "METRICS_PORT", "8080", _PORT, _port, "metrics_port", "port of /metrics, and of /decisions"
    ),
    Option(
        "HEALTH_PROBE_PORT",
        "8081",
        _PORT,
        _port,
        "health_probe_port",
        "port of /healthz and /readyz",
    ),
    Option(
        "LOG_LEVEL",
        "info",
        "debug, info or error",
        _one_of("debug", "info", "error"),
        "log_level",
        "least level of log lines",
    ),
    Option(
        "BATCH_IDLE_DURATION",
        "500ms",
        _DURATION,
        _duration,
        "settings.batch_idle",
        "a batch of pods ends when none came for this long",
    ),
    Option(
        "BATCH_MAX_DURATION",
        "1s",
        _DURATION,
        _duration,
        "settings.batch_max",
        "a batch of pods ends after this at the latest",
    ),
    Option(
        "SOLVE_MAX_DURATION",
        "2s",
        _DURATION,
        _duration,
        "settings.solve_max",
        "the search for cheaper nodes ends after this with the best it has found",
    ),
    Option(
        "PER_NODE_COST",
        "0",
        "a number of 0 or more",
        _amount,
        "settings.per_node_cost_usd_per_hour",
        "USD per hour that a node costs beside its instance; above 0, fewer and larger nodes are made",
    ),
    Option(
        "PRICE_GUARD",
        "2",
        "a number of 1 or more",
        _factor,
        "settings.price_guard",
        "how many times the on-demand list price of a type that would do a new node may cost",
    ),
    Option(
        "PRICE_GUARD_PATIENCE",
        "5m",
        _DURATION,
        _duration,
        "settings.price_guard_patience",
        "pods that have waited for this long may have nodes twice as dear, and so on",
    ),
    Option(
        "ENABLE_ZONAL_SHIFT",
        "false",
        _TRUTH,
        _truth,
        "enable_zonal_shift",
        "nothing is launched in zones that the cluster is shifted away from",
    ),
    Option(
        "DISABLE_DRY_RUN",
        "false",
        _TRUTH,
        _truth,
        "disable_dry_run",
        "node classes are Ready without a launch having been tried",
    ),
    Option("ISOLATED_VPC", "false", _TRUTH, _truth, "isolated_vpc", "no calls of the Pricing API"),
    Option(
        "VM_MEMORY_OVERHEAD_PERCENT",
        "0.075",
        "0 up to, not including, 1",
        _share,
        "vm_memory_overhead_percent",
        "share of memory that the hypervisor keeps",
    ),
    Option(
        "RESERVED_ENIS",
        "0",
        "0 or more",
        _count,
        "reserved_enis",
        "network interfaces not for pods",
    ),
    Option(
        "INTERRUPTION_QUEUE",
        "",
        _NAME,
        _any_text,
        "interruption_queue",
        "SQS queue of interruption messages",
    ),
    Option(
        "DRAIN_ON_REBALANCE_RECOMMENDATION",
        "false",
        _TRUTH,
        _truth,
        "settings.drain_on_rebalance",
        "replace a spot node when EC2 recommends to, not only when it interrupts",
    ),
    Option(
        "PREFERENCE_POLICY",
        "Respect",
        "Respect or Ignore",
        _one_of("Respect", "Ignore"),
        "settings.preference_policy",
        "whether nodes are made for what pods prefer",
    ),
    Option(
        "MIN_VALUES_POLICY",
        "Strict",
        "Strict or BestEffort",
        _one_of("Strict", "BestEffort"),
        "settings.min_values_policy",
        "whether a node is made when fewer values are left than minValues asks",
    ),
    Option(
        "DISABLE_LEADER_ELECTION",
        "false",
        _TRUTH,
        lambda text: not _truth(text),
        "leader_election",
        "act without the Lease",
    ),
    Option(
        "LEADER_ELECTION_NAME",
        "karpenter-leader-election",
        "a name",
        _matching(r"[a-z0-9][a-z0-9.-]*"),
        "leader_election_name",
        "name of the Lease; Karpenter's, so that only one of both acts",
    ),
    Option(
        "LEADER_ELECTION_NAMESPACE",
        "",
        _NAME,
        _matching(r"[a-z0-9-]*"),
        "leader_election_namespace",
        "default: the process's own",
    ),
    Option(
        "KUBE_CLIENT_QPS",
        "200",
        "a number above 0",
        _positive,
        "kube_client_qps",
        "requests to the API server per second",
    ),
    Option(
        "KUBE_CLIENT_BURST",
        "300",
        "a whole number above 0",
        lambda text: int(_positive(str(_count(text)))),
        "kube_client_burst",
        "requests to the API server that may come at once",
    ),
    Option(
        "FEATURE_GATES",
        "",
        f"name=true or name=false, by commas; names: {', '.join(FEATURE_GATES)}",
        _gates,
        "settings.extra",
        "features to turn on or off",
    ),
    Option(
        "INSTANCE_TYPES_FILE_PATH",
        "",
        "a file that exists",
        _file,
        "instance_types_file",
        "catalogue of the kwok cloud; default: built in",
    ),
)

WITHOUT_EFFECT: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "KARPENTER_SERVICE": ((), "webhooks are not served"),
    "ENABLE_PROFILING": (("false",), "there is no profiling endpoint"),
    "DISABLE_CONTROLLER_WARMUP": (
        ("true", "false"),
        "a standby always keeps its caches warm",
    ),
    "DISABLE_CLUSTER_STATE_OBSERVABILITY": (("false",), "its metrics are always served"),
    "MEMORY_LIMIT": (("-1",), "memory is not collected against a limit"),
    "CPU_REQUESTS": (("1000",), "the number of threads is fixed"),
    "LOG_OUTPUT_PATHS": (("stdout",), "log lines go to standard output"),
    "LOG_ERROR_OUTPUT_PATHS": (("stderr", "stdout"), "log lines go to standard output"),
    "IGNORE_DRA_REQUESTS": (("true",), "pods with resource claims are never planned for"),
    "SCHEDULER_CONFIG": ((), "pods get no default spread constraints"),
    "EKS_CONTROL_PLANE": (("true", "false"), "the control plane is always that of EKS"),
    "AMI_REFRESH_INTERVAL": ((), "images are looked up with their node class"),
    "SUBNET_REFRESH_INTERVAL": ((), "subnets are looked up with their node class"),
    "AWS_FEATURE_GATES": ((), "there are none"),
}
"""Options of Karpenter that are accepted, so that its manifests start, and do nothing here.

Name -> values that ask for nothing else than what happens, and what to say of any other.
"""
GATES_WITHOUT_EFFECT: Final = ("NodeOverlay", "CapacityBuffer")
"""Feature gates that can be turned on and change nothing yet."""
