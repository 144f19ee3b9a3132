"""Which cloud: builds the provider that was asked for, with what it needs from the cluster.

Providers do not know Kubernetes clients; what they need of the cluster is handed to them here.
"""

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from daiku.api import decode, kinds
from daiku.cloud.aws import instance_status
from daiku.cloud.aws.provider import AwsOptions, AwsProvider
from daiku.cloud.aws.queue import Queue
from daiku.cloud.aws.session import NoRegionError, Session
from daiku.cloud.errors import CloudError
from daiku.cloud.kwok import catalogue as kwok_catalogue
from daiku.cloud.kwok.provider import KwokProvider
from daiku.cloud.provider import CloudProvider
from daiku.events import Event
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.model.node import Node
from daiku.runtime import clock, interruptions, node_classes
from daiku.runtime.inbox import Inbox
from daiku.runtime.measurements import Measurements
from daiku.runtime.options import Options
from daiku.runtime.pollers import Poller
from daiku.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptions:
    """How the cloud's warnings come here."""

    settlements: interruptions.Settlements
    reader: interruptions.QueueReader | None = None
    """None: no queue is named."""
    check: Callable[[Callable[[str], bool]], Poller] | None = None
    """Makes what asks for broken machines, given which instances are ours; None where the cloud does not tell."""


class StartError(Exception):
    """The cloud cannot be used; the message says why and what to do."""


def make(options: Options, environ: Mapping[str, str], client: Client) -> CloudProvider:
    """The provider that `options` name.

    Raises:
        StartError: It cannot be built.
    """
    return _kwok(options, client) if options.cloud == "kwok" else _aws(options, environ)


def settings(options: Options, cloud: CloudProvider) -> Settings:
    """The settings of `options`, with what only the cloud knows."""
    kind = kinds.NODE_CLASSES[cloud.node_class_kind]
    return replace(
        options.settings,
        node_class_kind=(kind.api_version.partition("/")[0], kind.name),
        repair_policies=cloud.repair_policies if options.settings.is_on("NodeRepair") else (),
    )


def node_class_keeper(
    cloud: CloudProvider, client: Client, may_write: Callable[[], bool], stop: threading.Event
) -> Poller | None:
    """What keeps the status of node classes true; None where nothing needs to."""
    if not isinstance(cloud, AwsProvider):
        return None
    keeper = node_classes.NodeClassKeeper(cloud, client, may_write)
    return Poller("node-classes", node_classes.SECONDS, keeper, stop)


def watcher_door(cloud: CloudProvider, inbox: Inbox) -> Callable[[Event], None]:
    """Where watchers put events: the inbox, by way of whoever learns from them."""
    if not isinstance(cloud, AwsProvider):
        return inbox.put
    return Measurements(inbox.put, cloud.measured.note, cloud.names.note).put


def interruption_threads(
    cloud: CloudProvider, options: Options, inbox: Inbox, stop: threading.Event
) -> Interruptions:
    """What brings the cloud's warnings; nothing where the cloud gives none."""
    settlements = interruptions.Settlements()
    if not isinstance(cloud, AwsProvider):
        return Interruptions(settlements=settlements)
    session = cloud.session

    def check(is_ours: Callable[[str], bool]) -> Poller:
        ask = functools.partial(instance_status.unhealthy, session)
        work = interruptions.StatusCheck(ask, is_ours, inbox)
        return Poller("instance-status", interruptions.STATUS_SECONDS, work, stop)

    reader = None
    if options.interruption_queue:
        reader = interruptions.QueueReader(
            queue=Queue(session, options.interruption_queue),
            inbox=inbox,
            settlements=settlements,
            stop=stop,
        )
    return Interruptions(settlements=settlements, reader=reader, check=check)


def _aws(options: Options, environ: Mapping[str, str]) -> AwsProvider:
    try:
        session = Session(environ.get("AWS_REGION", ""))
        provider = AwsProvider(
            session,
            AwsOptions(
                cluster_name=options.settings.cluster_name,
                cluster_endpoint=options.cluster_endpoint,
                cluster_ca_bundle=options.cluster_ca_bundle,
                isolated_vpc=options.isolated_vpc,
                dry_run=not options.disable_dry_run,
                reserved_capacity=options.settings.is_on("ReservedCapacity"),
                memory_overhead=options.vm_memory_overhead_percent,
                reserved_interfaces=options.reserved_enis,
                zonal_shift=options.enable_zonal_shift,
            ),
            clock.now,
        )
        provider.cluster()
        if options.enable_zonal_shift:
            # Told at start, not by launches into a zone that is to be left alone.
            provider.shifted_zones()
    except (NoRegionError, CloudError) as error:
        raise StartError(str(error)) from error
    return provider


def _kwok(options: Options, client: Client) -> KwokProvider:
    try:
        types = (
            kwok_catalogue.read(Path(options.instance_types_file))
            if options.instance_types_file
            else kwok_catalogue.built_in()
        )
    except kwok_catalogue.CatalogueError as error:
        raise StartError(str(error)) from error
    return KwokProvider(nodes=_Nodes(client), types=types, now=clock.now)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The Node objects of the cluster, for the kwok cloud."""

    client: Client

    def create(self, body: Mapping[str, Any]) -> None:
        try:
            self.client.create(kinds.NODES.path, body)
        except errors.AlreadyExists:
            return

    def get(self, name: str) -> Node | None:
        try:
            return decode.node(self.client.get(kinds.NODES.object_path(name)))
        except errors.NotFound:
            return None

    def delete(self, name: str) -> bool:
        try:
            self.client.delete(kinds.NODES.object_path(name))
        except errors.NotFound:
            return False
        return True

    def list(self) -> Sequence[Node]:
        pages = self.client.list(kinds.NODES.path)
        return [decode.guarded(decode.node, bytes(raw)) for page in pages for raw in page.items]
