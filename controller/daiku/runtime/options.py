"""Everything that can be set from outside: flags, then environment, then defaults; Karpenter's names where it has them.

One table says each option's name, bound, default and meaning; reading, `daiku run --help` and the errors come from
it. All mistakes are reported together, each with the value, what is allowed, and what to do.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from daiku.model import units
from daiku.settings import Settings

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


class OptionsError(Exception):
    """Some options are wrong; the message names each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How this process runs."""

    cloud: str = "aws"
    bind_address: str = "0.0.0.0"  # noqa: S104  # a pod's probes and scrapes come from outside of it
    metrics_port: int = 8080
    health_probe_port: int = 8081
    log_level: str = "info"
    cluster_endpoint: str = ""
    """URL of the API server as nodes see it; empty: ask EKS."""
    cluster_ca_bundle: str = ""
    """Base64 of the API server's CA as nodes get it; empty: ask EKS."""
    isolated_vpc: bool = False
    vm_memory_overhead_percent: float = 0.075
    reserved_enis: int = 0
    interruption_queue: str = ""
    leader_election: bool = True
    leader_election_name: str = "karpenter-leader-election"
    leader_election_namespace: str = ""
    """Empty: the namespace of the process."""
    kube_client_qps: int = 200
    kube_client_burst: int = 300
    instance_types_file: str = ""
    """Only for the kwok cloud."""
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class _Option:
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


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError
    return int(text)


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
    _Option("CLOUD", "aws", "aws or kwok", _one_of(*CLOUDS), "cloud", "where nodes come from"),
    _Option("CLUSTER_NAME", "", "the EKS cluster's name, 1 to 100 characters", _matching(r"[0-9A-Za-z][A-Za-z0-9_.-]{0,99}|"), "settings.cluster_name", "required with --cloud aws"),
    _Option("CLUSTER_ENDPOINT", "", "an http or https URL", _url, "cluster_endpoint", "API server as nodes see it; default: ask EKS"),
    _Option("CLUSTER_CA_BUNDLE", "", "base64", _matching(r"[A-Za-z0-9+/=\s]*"), "cluster_ca_bundle", "CA of the API server; default: ask EKS"),
    _Option("BIND_ADDRESS", "0.0.0.0", "an IP address", _address, "bind_address", "the only address listened on"),  # noqa: S104
    _Option("METRICS_PORT", "8080", _PORT, _port, "metrics_port", "port of /metrics"),
    _Option("HEALTH_PROBE_PORT", "8081", _PORT, _port, "health_probe_port", "port of /healthz and /readyz"),
    _Option("LOG_LEVEL", "info", "debug, info or error", _one_of("debug", "info", "error"), "log_level", "least level of log lines"),
    _Option("BATCH_IDLE_DURATION", "1s", _DURATION, _duration, "settings.batch_idle", "a batch of pods ends when none came for this long"),
    _Option("BATCH_MAX_DURATION", "10s", _DURATION, _duration, "settings.batch_max", "a batch of pods ends after this at the latest"),
    _Option("ISOLATED_VPC", "false", _TRUTH, _truth, "isolated_vpc", "no calls of the Pricing API"),
    _Option("VM_MEMORY_OVERHEAD_PERCENT", "0.075", "0 up to, not including, 1", _share, "vm_memory_overhead_percent", "share of memory that the hypervisor keeps"),
    _Option("RESERVED_ENIS", "0", "0 or more", _count, "reserved_enis", "network interfaces not for pods"),
    _Option("INTERRUPTION_QUEUE", "", _NAME, _any_text, "interruption_queue", "SQS queue of interruption messages"),
    _Option("DISABLE_LEADER_ELECTION", "false", _TRUTH, lambda text: not _truth(text), "leader_election", "act without the Lease"),
    _Option("LEADER_ELECTION_NAME", "karpenter-leader-election", "a name", _matching(r"[a-z0-9][a-z0-9.-]*"), "leader_election_name", "name of the Lease; Karpenter's, so that only one of both acts"),
    _Option("LEADER_ELECTION_NAMESPACE", "", _NAME, _matching(r"[a-z0-9-]*"), "leader_election_namespace", "default: the process's own"),
    _Option("KUBE_CLIENT_QPS", "200", "1 or more", _positive, "kube_client_qps", "requests per second to the API server"),
    _Option("KUBE_CLIENT_BURST", "300", "1 or more", _positive, "kube_client_burst", "requests at once to the API server"),
    _Option("FEATURE_GATES", "", f"name=true or name=false, by commas; names: {', '.join(FEATURE_GATES)}", _gates, "settings.extra", "features to turn on or off"),
    _Option("INSTANCE_TYPES_FILE_PATH", "", "a file that exists", _file, "instance_types_file", "catalogue of the kwok cloud; default: built in"),
)  # fmt: skip

WITHOUT_EFFECT: Final = frozenset(
    {
        "KARPENTER_SERVICE", "ENABLE_PROFILING", "DISABLE_CONTROLLER_WARMUP", "DISABLE_CLUSTER_STATE_OBSERVABILITY",
        "MEMORY_LIMIT", "CPU_REQUESTS", "LOG_OUTPUT_PATHS", "LOG_ERROR_OUTPUT_PATHS", "PREFERENCE_POLICY",
        "MIN_VALUES_POLICY", "IGNORE_DRA_REQUESTS", "SCHEDULER_CONFIG", "EKS_CONTROL_PLANE", "DISABLE_DRY_RUN",
        "ENABLE_ZONAL_SHIFT", "AMI_REFRESH_INTERVAL", "SUBNET_REFRESH_INTERVAL", "AWS_FEATURE_GATES",
    }
)  # fmt: skip
"""Options of Karpenter that are accepted, so that its manifests start, and do nothing here."""


def read(arguments: Sequence[str], environ: Mapping[str, str]) -> Options:
    """The options of a process.

    Raises:
        OptionsError: Some are wrong; all of them are named.
    """
    by_flag = {option.flag: option for option in TABLE}
    problems: list[str] = []
    flags = _flags(arguments, set(by_flag), problems)
    values: dict[str, Any] = {}
    for option in TABLE:
        text, source = flags.get(option.flag), option.flag
        if text is None:
            # An empty variable is as good as none: manifests set many of them so.
            text, source = environ.get(option.name) or option.default, option.name
        try:
            values[option.target] = option.parse(text)
        except ValueError:
            problems.append(f"{source} is {text!r}; it may be {option.allowed}")
    if not problems:
        problems = _contradictions(values)
    if problems:
        raise OptionsError("; ".join(problems) + ". See `daiku run --help`")
    settings = {
        k.removeprefix("settings."): v for k, v in values.items() if k.startswith("settings.")
    }
    own = {f.name: values[f.name] for f in fields(Options) if f.name in values}
    return Options(**own, settings=replace(Settings(), **settings))


def describe() -> str:
    """Every option, for people."""
    width = max(len(option.flag) for option in TABLE)
    return "\n".join(
        f"{option.flag:<{width}}  {option.help} ({option.allowed}; "
        f"${option.name}{f'; default {option.default}' if option.default else ''})"
        for option in TABLE
    )


def _flags(arguments: Sequence[str], known: set[str], problems: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    ignored = {f"--{name.lower().replace('_', '-')}" for name in WITHOUT_EFFECT}
    rest = list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if flag not in known | ignored:
            problems.append(f"{flag!r} is no option of `daiku run`")
            continue
        if not equals:
            if not rest or rest[0].startswith("--"):
                problems.append(f"{flag} needs a value, as {flag} VALUE or {flag}=VALUE")
                continue
            value = rest.pop(0)
        if flag in known:
            found[flag] = value
    return found


def _contradictions(values: Mapping[str, Any]) -> list[str]:
    problems: list[str] = []
    if values["cloud"] == "aws" and not values["settings.cluster_name"]:
        problems.append("CLUSTER_NAME is empty; with --cloud aws it must be the EKS cluster's name")
    idle, most = values["settings.batch_idle"], values["settings.batch_max"]
    if most < idle:
        problems.append(
            f"BATCH_MAX_DURATION is {most.total_seconds():g}s; it may not be less than "
            f"BATCH_IDLE_DURATION, which is {idle.total_seconds():g}s"
        )
    if values["metrics_port"] == values["health_probe_port"]:
        problems.append(
            f"METRICS_PORT and HEALTH_PROBE_PORT are both {values['metrics_port']}; they must differ"
        )
    return problems
