"""The composition root: the only place that builds real clients, starts threads and decides how the process ends.

0  asked to stop (SIGTERM, SIGINT): in-flight calls finish or are dropped, the Lease is given back
1  a thread died, the Lease was lost, another autoscaler runs, the CRDs are too old, or the cluster or the cloud cannot
   be reached at start
"""

import functools
import os
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from daiku import cloud_choice
from daiku.api import decisions, kinds
from daiku.cloud.errors import CloudError
from daiku.cloud.provider import CloudProvider
from daiku.kube import credentials, errors, installed, lease
from daiku.kube.client import Client
from daiku.kube.pace import Pace
from daiku.kube.record import Recorder
from daiku.kube.watch import Watcher
from daiku.runtime import clock, health, pollers
from daiku.runtime.carrier import Carrier, NodeClassIndex
from daiku.runtime.decided import Telling
from daiku.runtime.executor import Executor
from daiku.runtime.inbox import Inbox
from daiku.runtime.loop import Loop
from daiku.runtime.options import Options
from daiku.runtime.threads import Supervisor
from daiku.state.cluster import Cluster
from daiku.telemetry import log, metrics

STOP_SECONDS: Final = 3.0
"""How long calls under way may take to finish when the process is asked to stop."""

_log = log.get("app")


@dataclass(slots=True, kw_only=True)
class _Parts:
    """What is built before any thread starts."""

    supervisor: Supervisor
    inbox: Inbox
    client: Client
    cloud: CloudProvider
    node_classes: NodeClassIndex
    identity: str
    """Names this process and no other."""
    lease: lease.Lease | None


def run(options: Options, environ: Mapping[str, str]) -> int:
    """Run the controller until it is told to stop or cannot go on; the process's exit status."""
    log.configure(options.log_level)
    metrics.BUILD_INFO.labels(metadata.version("daiku"), "", os.uname().machine, "").set(1)
    for sentence in options.without_effect:
        _log.warning("option without effect", reason=sentence)
    supervisor = Supervisor(
        expected=(lease.ForeignHolderError, lease.LeaseLostError, installed.OldCrdError)
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: supervisor.stop.set())
    try:
        parts = _build(options, environ, supervisor)
        executor, close = _start(options, parts)
    except (
        credentials.NoClusterError,
        cloud_choice.StartError,
        errors.KubeError,
        CloudError,
        OSError,
    ) as error:
        _log.error("cannot start", error=str(error))
        return 1
    # Event.wait without a limit would not let signals through on every platform.
    while not supervisor.stop.wait(1.0):
        pass
    return _end(parts, executor, close)


def _build(options: Options, environ: Mapping[str, str], supervisor: Supervisor) -> _Parts:
    found = credentials.Credentials(environ)
    client = Client(found, pace=Pace(options.kube_client_qps, options.kube_client_burst))
    namespace = credentials.namespace(environ)
    identity = f"{lease.IDENTITY_PREFIX}{environ.get('POD_NAME') or os.uname().nodename}_{secrets.token_hex(4)}"
    return _Parts(
        supervisor=supervisor,
        inbox=Inbox(),
        client=client,
        cloud=cloud_choice.make(options, environ, client),
        node_classes=NodeClassIndex(),
        identity=identity,
        lease=lease.Lease(
            client=Client(found, connections=1),
            namespace=options.leader_election_namespace or namespace,
            name=options.leader_election_name,
            identity=identity,
            stop=supervisor.stop,
            now=clock.now,
        )
        if options.leader_election
        else None,
    )


def _start(options: Options, parts: _Parts) -> tuple[Executor, Callable[[], None]]:
    """Start every thread; gives the executor, and what stops listening."""
    supervisor, stop = parts.supervisor, parts.supervisor.stop
    may_act = parts.lease.is_held if parts.lease is not None else lambda: True
    catalogue = pollers.Poller(
        "catalogue",
        pollers.CATALOGUE_SECONDS,
        pollers.CatalogueRefresh(parts.cloud, parts.node_classes, parts.inbox),
        stop,
    )
    listing = pollers.InstanceList(parts.cloud, parts.inbox)
    instances = pollers.Poller("instances", pollers.INSTANCES_SECONDS, listing, stop)
    warnings = cloud_choice.interruption_threads(parts.cloud, options, parts.inbox, stop)
    keeper = cloud_choice.node_class_keeper(parts.cloud, parts.client, may_act, stop)
    carrier = Carrier(
        client=parts.client,
        cloud=parts.cloud,
        recorder=Recorder(parts.client, clock.now, may_write=may_act),
        node_classes=parts.node_classes,
        may_write=may_act,
    )
    executor = Executor(carrier, parts.inbox)

    def node_classes_changed() -> None:
        catalogue.wake()
        if keeper is not None:
            keeper.wake()

    settings = cloud_choice.settings(options, parts.cloud)
    telling = Telling(identity=parts.identity, settings=settings, leads=may_act)
    loop = Loop(
        cluster=Cluster(settings),
        settings=settings,
        inbox=parts.inbox,
        executor=executor,
        node_classes=parts.node_classes,
        may_act=may_act,
        stopping=stop.is_set,
        node_classes_changed=node_classes_changed,
        settled=warnings.settlements.put,
        decided=telling.hear,
    )
    close = _listen(options, parts, loop, telling)
    door = cloud_choice.watcher_door(parts.cloud, parts.inbox)
    watched = (*kinds.WATCHED, kinds.NODE_CLASSES[parts.cloud.node_class_kind])
    for kind in watched:
        watcher = Watcher(parts.client, kind, door, stop)
        supervisor.start(f"watch-{kind.name}", watcher.run)
    supervisor.start("loop", loop.run)
    supervisor.start("catalogue", catalogue.run)
    supervisor.start("instances", instances.run)
    if keeper is not None:
        supervisor.start("node-classes", functools.partial(_when_leading, parts, keeper.run))
    if warnings.reader is not None:
        reader = functools.partial(_when_leading, parts, warnings.reader.run)
        supervisor.start("interruptions", reader)
    if warnings.check is not None:
        check = warnings.check(lambda instance_id: instance_id in listing.known)
        supervisor.start("instance-status", functools.partial(_when_leading, parts, check.run))
    executor.start(supervisor)
    if parts.lease is not None:
        supervisor.start("lease", parts.lease.run)
    _log.info("started", cloud=parts.cloud.name, version=metadata.version("daiku"))
    return executor, close


def _when_leading(parts: _Parts, run: Callable[[], None]) -> None:
    """Call `run` from the moment on at which this process leads, so that its first look is not a standby's."""
    held, stop = parts.lease.held if parts.lease is not None else None, parts.supervisor.stop
    while held is not None and not held.is_set() and not stop.wait(0.1):
        pass
    run()


def _listen(options: Options, parts: _Parts, loop: Loop, telling: Telling) -> Callable[[], None]:
    state = health.Health(
        silent_seconds=parts.inbox.silent_seconds,
        unready=lambda: "" if loop.is_synced else "a kind has yet to be listed, or again",
    )
    servers = [
        health.serve(
            options.bind_address,
            options.metrics_port,
            {"/metrics": health.metrics, decisions.PATH: telling.answer},
        ),
        health.serve(
            options.bind_address,
            options.health_probe_port,
            {"/healthz": state.healthz, "/readyz": state.readyz},
        ),
    ]

    def close() -> None:
        for server in servers:
            server.server_close()

    return close


def _end(parts: _Parts, executor: Executor, close: Callable[[], None]) -> int:
    failure = parts.supervisor.failure
    if failure is not None:
        _log.error("stopping", reason=str(failure))
    else:
        _log.info("stopping", reason="asked to")
    left = executor.close(STOP_SECONDS)
    if left:
        _log.info("commands dropped; they are planned again at the next start", commands=left)
    if parts.lease is not None:
        parts.lease.release()
    close()
    sys.stdout.flush()
    return 0 if failure is None else 1
