"""The agent as a whole: its threads, its end, and the sign that it is ready.

A thread that dies of an error nobody expected ends the agent, because a half agent would look like
a slow cloud. Before the agent ends, it stops every process that it started.
"""

import fcntl
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

from daiku_local import world
from daiku_local.agent import addresses, kubelet_api, pods, settings, workloads
from daiku_local.agent.aws_api import AwsApi, AwsError
from daiku_local.agent.boot import Boot, Cluster
from daiku_local.agent.kubernetes_api import KubernetesApi, KubernetesError
from daiku_local.agent.objects import dig
from daiku_local.agent.preparation import Services
from daiku_local.agent.workloads import Workloads
from daiku_local.world import World

READY_FILE = "agent.ready"
LOCK_FILE = "agent.lock"
PASS_SECONDS = 1.0
"""Between two looks at EC2."""
PAUSE_SECONDS_MAX = 2.0
"""The same, when a look takes long."""

_log = logging.getLogger(__name__)


class AgentError(Exception):
    """The agent cannot run."""


class Supervisor:
    """Starts threads, and notices when one dies."""

    stop: threading.Event
    """Set when the agent is to end."""
    failed: bool
    """Whether a thread died."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.failed = False

    def start(self, name: str, target: Callable[[], None]) -> threading.Thread:
        """Run `target` in a thread of this name."""
        thread = threading.Thread(target=self._guard, args=(target,), name=name, daemon=True)
        thread.start()
        return thread

    def _guard(self, target: Callable[[], None]) -> None:
        try:
            target()
        except Exception:  # noqa: BLE001 - the thread supervisor is where the unexpected ends
            _log.exception("thread %r died, so the agent ends", threading.current_thread().name)
            self.failed = True
            self.stop.set()


def run(
    world_folder: Path,
    environment: Mapping[str, str],
    kubelet_port: int | None = None,
    kwok_port: int = 0,
) -> int:
    """Run the agent of the world in `world_folder` until SIGTERM. Returns the exit code.

    Raises:
        AgentError: Another agent runs this world, or a part of the world is missing.
        NoWorldError: There is no world.
        NoAddressError: Local pods can have no addresses on this machine.
        OSError: Another program took `kubelet_port`.
    """
    here = world.load(world_folder)
    authority = here.pki / "ca.crt"
    for needed in (here.kubeconfig, authority):
        if not needed.exists():
            raise AgentError(
                f"{needed} is missing: make the world anew, `daiku local down`, then `up`"
            )
    supervisor = Supervisor()

    def stop(_number: int, _frame: FrameType | None) -> None:
        supervisor.stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    ready = world_folder / READY_FILE
    with (
        _only_agent(world_folder),
        closing(addresses.take(workloads.preferred_octet(world_folder))) as pod_addresses,
    ):
        ready.unlink(missing_ok=True)
        services = Services(
            world=here,
            authority=authority.read_bytes(),
            kubernetes=KubernetesApi(here.kubeconfig),
            addresses=pod_addresses,
            settings=lambda: settings.read(world_folder),
            inherited={name: environment[name] for name in pods.PASSED_ON if name in environment},
        )
        services.records.mkdir(exist_ok=True, mode=0o700)
        local_pods = Workloads(services, supervisor.start)
        booted = threading.Event()
        supervisor.start("boot", lambda: _boot(services, supervisor.stop, booted))
        supervisor.start("workloads", local_pods.run)
        if kubelet_port is not None:
            listener = kubelet_api.make(world_folder, kubelet_port, kwok_port, here.pki)
            supervisor.start("kubelet", listener.serve_forever)
        try:
            _announce(ready, supervisor.stop, booted, local_pods.listed)
            supervisor.stop.wait()
        finally:
            ready.unlink(missing_ok=True)
            local_pods.leave()
    _log.info("agent ends")
    return 1 if supervisor.failed else 0


def _announce(ready: Path, stop: threading.Event, *parts: threading.Event) -> None:
    """Write the ready file as soon as every part has made its first pass."""
    while not stop.is_set():
        if all(part.is_set() for part in parts):
            ready.write_text(f"{os.getpid()}\n")
            _log.info("agent ready")
            return
        stop.wait(0.05)


def _boot(services: Services, stop: threading.Event, booted: threading.Event) -> None:
    boot: Boot | None = None
    problem = ""
    while not stop.is_set():
        began = time.monotonic()
        try:
            if boot is None:
                boot = _make_boot(services)
            boot.step(began)
        except (AwsError, KubernetesError, settings.SettingsError) as error:
            if str(error) != problem:
                _log.warning("instances cannot be looked at: %s", error)
            problem = str(error)
        else:
            if problem:
                _log.info("instances are looked at again")
            problem = ""
            booted.set()
        # A stand-in AWS with many instances answers slowly: leave it some time for others.
        took_seconds = time.monotonic() - began
        stop.wait(min(max(PASS_SECONDS, took_seconds), PAUSE_SECONDS_MAX))


def _make_boot(services: Services) -> Boot:
    here = services.world
    aws = AwsApi(here)

    def boot_delay_seconds() -> float:
        own = services.settings().boot_delay_seconds
        return aws.fetch_boot_seconds() if own is None else own

    boot = Boot(
        aws=aws,
        kubernetes=services.kubernetes,
        cluster=Cluster(
            endpoint=here.kubernetes_endpoint,
            certificate_authority=services.authority,
            region=here.region,
            kubelet_version=_kubelet_version(services.kubernetes, here),
        ),
        folder=Path(here.folder),
        boot_delay_seconds=boot_delay_seconds,
    )
    boot.remember()
    return boot


def _kubelet_version(kubernetes: KubernetesApi, here: World) -> str:
    """The control plane's own version; nodes of a new cluster are of the same."""
    version = str(dig(kubernetes.get("/version"), "gitVersion") or "")
    wanted = f"v{here.kubernetes_version}."
    return version if version.startswith(wanted) else f"{wanted}0"


@contextmanager
def _only_agent(world_folder: Path) -> Generator[None]:
    """Hold the world's agent lock; the kernel lets it go when its holder ends, however it ends."""
    descriptor = os.open(world_folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AgentError(
                f"another agent runs the world in {world_folder}: there can be only one"
            ) from None
        yield
    finally:
        os.close(descriptor)
