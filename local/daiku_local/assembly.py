"""Which parts a world has, in what order they start, and when each counts as ready.

    etcd, stand-in AWS, egress  ->  kube-apiserver  ->  controller-manager, scheduler, kwok, metrics  ->  agent

Parts on one level start together. Each is written into world.json before it runs, so that `down`
finds it however the assembly ends. What to do when it fails is decided in `up`.
"""

import datetime as dt
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from daiku_local import environment, processes, world
from daiku_local.control_plane import certificates, commands, kubeconfigs, probes
from daiku_local.control_plane.commands import Settings
from daiku_local.metrics import registration

Report = Callable[[str], None]

READY_SECONDS_MAX = 120.0
"""How long a part may take to be ready: a hundred times what it needs on an idle machine."""
PATIENCE_SECONDS = 5.0
"""After how much waiting a line says for whom; on an idle machine nothing takes as long."""
AGENT_READY = "agent.ready"
"""File that the agent makes in the world's folder when it watches the cluster."""
PARTS = (
    "etcd",
    "aws",
    "egress",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "metrics",
    "agent",
)
"""Names of all parts; a world with fewer was stopped half-way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One process of the world."""

    name: str
    """One of PARTS."""
    arguments: Sequence[str]
    """Program and its arguments."""
    is_ready: probes.Probe
    """Whether others may count on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A part that was started and not yet seen ready."""

    part: Part
    process: world.Process
    since: float
    """time.monotonic() of its start."""


class Assembly:
    """Starts the parts of one world and keeps its world.json true."""

    def __init__(self, settings: Settings, report: Report) -> None:
        self._settings = settings
        self._report = report
        self._waiting: list[Waiting] = []
        # As it is on disk.
        self.world = settings.world

    def prepare(self, now: dt.datetime) -> None:
        """Make keys, certificates, kubeconfigs and folders; write world.json."""
        settings = self._settings
        folder, pki = Path(self.world.folder), self.world.pki
        world.save(self.world)
        certificates.write_all(pki, now)
        endpoint = self.world.kubernetes_endpoint
        kubeconfigs.write(self.world.kubeconfig, endpoint, pki, "admin")
        settings.kubeconfigs.mkdir(exist_ok=True, mode=0o700)
        for client in ("kube-controller-manager", "kube-scheduler"):
            kubeconfigs.write(settings.kubeconfigs / client, endpoint, pki, client)
        for made in (environment.pulumi_home(folder), environment.pulumi_state(folder)):
            made.mkdir(exist_ok=True)
        environment.install_plugins(folder)

    def run(self) -> None:
        """Start every part and wait until all are ready.

        Raises:
            PartFailedError: One ended, or was not ready in time.
            KubernetesError: The API server did not take what the world needs.
        """
        settings = self._settings
        self._start(_etcd(settings), _aws(settings), _egress(settings))
        self._await("etcd")
        self._start(_apiserver(settings))
        self._await("kube-apiserver")
        # Its imports are heavy, and no other command needs them.
        from daiku_local.agent import forwards  # noqa: PLC0415
        from daiku_local.agent.kubernetes_api import KubernetesApi  # noqa: PLC0415

        # kwok looks for it when it starts.
        KubernetesApi(self.world.kubeconfig).create(forwards.CRDS, forwards.CRD)
        self._start(
            _controller_manager(settings), _scheduler(settings), _kwok(settings), _metrics(settings)
        )
        self._await()
        self._start(_agent(settings))
        self._await()

    def _start(self, *parts: Part) -> None:
        folder = Path(self.world.folder)
        environ = environment.of_parts(folder, self._settings.tools, os.environ)
        for part in parts:
            command = processes.Command(
                name=part.name,
                arguments=part.arguments,
                environment=environ,
                log=self.world.logs / f"{part.name}.log",
            )
            process = processes.start(command, self._record)
            self._waiting.append(Waiting(part=part, process=process, since=time.monotonic()))

    def _record(self, process: world.Process) -> None:
        self.world = replace(self.world, processes=(*self.world.processes, process))
        world.save(self.world)

    def _await(self, *names: str) -> None:
        """Return when the parts called `names` (none: all) are ready; watch all that were started."""
        said = time.monotonic()
        while any(not names or waiting.part.name in names for waiting in self._waiting):
            self._waiting = [each for each in self._waiting if not self._is_ready(each)]
            time.sleep(processes.POLL_SECONDS)
            if self._waiting and time.monotonic() - said > PATIENCE_SECONDS:
                late = ", ".join(waiting.part.name for waiting in self._waiting)
                self._report(f"  still waiting for {late}")
                said = time.monotonic()

    def _is_ready(self, waiting: Waiting) -> bool:
        seconds = time.monotonic() - waiting.since
        if processes.is_ready(waiting.process, waiting.part.is_ready, READY_SECONDS_MAX - seconds):
            seconds = time.monotonic() - waiting.since
            self._report(f"  {waiting.part.name:<24} ready after {seconds:5.1f} s")
            return True
        return False


def _etcd(settings: Settings) -> Part:
    return Part(
        name="etcd",
        arguments=commands.etcd(settings),
        is_ready=probes.https(settings.ports.etcd, "/readyz", settings.world.pki),
    )


def _apiserver(settings: Settings) -> Part:
    return Part(
        name="kube-apiserver",
        arguments=commands.kube_apiserver(settings),
        is_ready=probes.https(settings.ports.apiserver, "/readyz", settings.world.pki),
    )


def _controller_manager(settings: Settings) -> Part:
    # A pod that is created before its ServiceAccount is refused, so "ready" includes the first one.
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    return Part(
        name="kube-controller-manager",
        arguments=commands.kube_controller_manager(settings),
        is_ready=probes.every(
            probes.https(settings.ports.controller_manager, "/healthz", settings.world.pki),
            probes.https(settings.ports.apiserver, account, settings.world.pki),
        ),
    )


def _scheduler(settings: Settings) -> Part:
    return Part(
        name="kube-scheduler",
        arguments=commands.kube_scheduler(settings),
        is_ready=probes.https(settings.ports.scheduler, "/readyz", settings.world.pki),
    )


def _kwok(settings: Settings) -> Part:
    return Part(
        name="kwok",
        arguments=commands.kwok(settings),
        is_ready=probes.plain(settings.ports.kwok, "/healthz"),
    )


def _metrics(settings: Settings) -> Part:
    # Asked as every client asks: by way of the API server.
    pki = settings.world.pki
    return Part(
        name="metrics",
        arguments=commands.metrics(settings),
        is_ready=probes.every(
            probes.https(settings.ports.apiserver, registration.PATH, pki),
            probes.plain(settings.ports.door, "/_health"),
        ),
    )


def _aws(settings: Settings) -> Part:
    world_option = f"--world={settings.world.folder}"
    port = settings.ports.aws
    return Part(
        name="aws",
        arguments=(sys.executable, "-m", "daiku_local.aws", world_option, f"--port={port}"),
        is_ready=probes.plain(port, "/_health"),
    )


def _egress(settings: Settings) -> Part:
    return Part(
        name="egress",
        arguments=commands.egress(settings),
        is_ready=probes.https(settings.ports.egress, "/_health", settings.world.pki),
    )


def _agent(settings: Settings) -> Part:
    ready = Path(settings.world.folder) / AGENT_READY
    world_option = f"--world={settings.world.folder}"
    return Part(
        name="agent",
        arguments=(
            sys.executable,
            "-m",
            "daiku_local.agent",
            world_option,
            f"--kubelet-port={settings.ports.kubelet}",
            f"--kwok-port={settings.ports.kwok}",
        ),
        is_ready=ready.exists,
    )
