"""Everything that can be set from outside: flags, then environment, then defaults; Karpenter's names where it has them.

One table (`option_table`) says each option's name, bound, default and meaning; reading, `daiku run --help` and the
errors come from it. All mistakes are reported together, each with the value, what is allowed, and what to do.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Final

from daiku.runtime import option_table
from daiku.settings import Settings

_BESIDE_LEAST: Final = 90
"""Columns of a terminal on which what an option means stands beside its flag, not below it."""


DECIDING: Final = frozenset(
    option.name
    for option in option_table.TABLE
    if option.target.startswith("settings.")
    or option.target in {"cloud", "vm_memory_overhead_percent", "reserved_enis"}
)
"""Names of the options on which it depends what is decided, and what an instance type has for pods."""


class OptionsError(Exception):
    """Some options are wrong; the message names each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How this process runs."""

    cloud: str = "aws"
    bind_address: str = "127.0.0.1"
    metrics_port: int = 8080
    health_probe_port: int = 8081
    log_level: str = "info"
    cluster_endpoint: str = ""
    """URL of the API server as nodes see it; empty: ask EKS."""
    cluster_ca_bundle: str = ""
    """Base64 of the API server's CA as nodes get it; empty: ask EKS."""
    isolated_vpc: bool = False
    disable_dry_run: bool = False
    enable_zonal_shift: bool = False
    vm_memory_overhead_percent: float = 0.075
    reserved_enis: int = 0
    interruption_queue: str = ""
    leader_election: bool = True
    leader_election_name: str = "karpenter-leader-election"
    leader_election_namespace: str = ""
    """Empty: the namespace of the process."""
    kube_client_qps: float = 200.0
    """Requests to the API server per second."""
    kube_client_burst: int = 300
    """How many of them may come at once."""
    without_effect: tuple[str, ...] = ()
    """One sentence for each option that is set to something that cannot be had here."""
    instance_types_file: str = ""
    """Only for the kwok cloud."""
    settings: Settings = field(default_factory=Settings)


def read(arguments: Sequence[str], environ: Mapping[str, str]) -> Options:
    """The options of a process.

    Raises:
        OptionsError: Some are wrong; all of them are named.
    """
    by_flag = {option.flag: option for option in option_table.TABLE}
    if environ.get("POD_IP") and not environ.get("BIND_ADDRESS"):
        environ = {**environ, "BIND_ADDRESS": environ["POD_IP"]}
    problems: list[str] = []
    flags = _flags(arguments, set(by_flag), problems)
    ignored = _ignored({**environ, **flags})
    values: dict[str, Any] = {}
    given: dict[str, bool] = {}
    for option in option_table.TABLE:
        text, source = flags.get(option.flag), option.flag
        given[option.target] = bool(text or environ.get(option.name))
        if text is None:
            # An empty variable is as good as none: manifests set many of them so.
            text, source = environ.get(option.name) or option.default, option.name
        try:
            values[option.target] = option.parse(text)
        except ValueError:
            problems.append(f"{source} is {text!r}; it may be {option.allowed}")
    if not problems:
        idle, most = values["settings.batch_idle"], values["settings.batch_max"]
        if given["settings.batch_idle"] and not given["settings.batch_max"]:
            # Karpenter's default maximum is 10 s, so an idle duration alone is no contradiction there.
            values["settings.batch_max"] = max(idle, most)
        problems = _contradictions(values)
    if problems:
        raise OptionsError("; ".join(problems) + ". See `daiku run --help`")
    settings = {
        k.removeprefix("settings."): v for k, v in values.items() if k.startswith("settings.")
    }
    own = {f.name: values[f.name] for f in fields(Options) if f.name in values}
    gates = tuple(
        f"feature gate {gate} is on, and there is no such feature here: nothing changes"
        for gate in option_table.GATES_WITHOUT_EFFECT
        if settings["extra"].get(gate) == "true"
    )
    return Options(
        **own, without_effect=(*ignored, *gates), settings=replace(Settings(), **settings)
    )


def deciding(arguments: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Those options of `DECIDING` that a process with these is given, by their name in the environment."""
    names = {option.flag: option.name for option in option_table.TABLE}
    flags = _flags(arguments, set(names), [])
    given = {**environ, **{names[flag]: text for flag, text in flags.items() if flag in names}}
    return {name: given[name] for name in sorted(DECIDING) if given.get(name)}


def describe(columns: int | None = None) -> str:
    """Every option, for people, on a terminal of so many columns; None: each on one line."""
    width = max(len(option.flag) for option in option_table.TABLE)
    said = {
        option.flag: f"{option.help} ({option.allowed}; ${option.name}"
        f"{f'; default {option.default}' if option.default else ''})"
        for option in option_table.TABLE
    }
    if columns is None:
        return "\n".join(f"{flag:<{width}}  {text}" for flag, text in said.items())
    fill = partial(textwrap.fill, width=columns - 2, break_long_words=False, break_on_hyphens=False)
    if columns < _BESIDE_LEAST:
        return "\n".join(
            f"{flag}\n{fill(text, initial_indent=' ' * 4, subsequent_indent=' ' * 4)}"
            for flag, text in said.items()
        )
    rest = " " * (width + 2)
    return "\n".join(
        fill(text, initial_indent=f"{flag:<{width}}  ", subsequent_indent=rest)
        for flag, text in said.items()
    )


def _flags(arguments: Sequence[str], known: set[str], problems: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    ignored = {f"--{name.lower().replace('_', '-')}": name for name in option_table.WITHOUT_EFFECT}
    rest = list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if flag not in known | ignored.keys():
            problems.append(f"{flag!r} is no option of `daiku run`")
            continue
        if not equals:
            if not rest or rest[0].startswith("--"):
                problems.append(f"{flag} needs a value, as {flag} VALUE or {flag}=VALUE")
                continue
            value = rest.pop(0)
        found[flag if flag in known else ignored[flag]] = value
    return found


def _ignored(given: Mapping[str, str]) -> tuple[str, ...]:
    """What is asked for and cannot be had; a value that means what happens anyway is not worth a word."""
    return tuple(
        f"{name}={value} has no effect: {option_table.WITHOUT_EFFECT[name][1]}"
        for name in sorted(option_table.WITHOUT_EFFECT)
        if (value := given.get(name, "")) not in {"", *option_table.WITHOUT_EFFECT[name][0]}
    )


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
