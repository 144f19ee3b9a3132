"""Instances become Nodes, and Nodes of instances that are gone go away.

Each pass looks at everything EC2 runs and is complete in itself, so a pass that AWS or Kubernetes
spoils is repeated a second later and nothing is lost. What only this process knows, which instances
have joined once, is kept in a file: a kubelet registers once, and a Node that somebody deletes while
its machine runs does not come back by itself.
"""

import base64
import binascii
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from daiku_local.agent import files, kubelet, node, user_data
from daiku_local.agent.aws_api import AwsError
from daiku_local.agent.instance_types import InstanceType
from daiku_local.agent.kubernetes_api import KubernetesError
from daiku_local.agent.node import Instance
from daiku_local.agent.objects import Json, dig, items, mapping
from daiku_local.agent.user_data import NodeConfig

STATUS_FILE = "agent-status.json"
GONE_PASSES = 2
"""Passes in a row that must miss an instance before its Node is deleted: EC2 is eventually consistent."""
DEFAULT_VOLUME_BYTES = 20 * 2**30
"""Root volume of an EKS image when EC2 does not tell."""
NODES = "/api/v1/nodes"
FROM_CACHE = {"resourceVersion": "0"}
"""A list that may be a moment old and costs the API server little."""

_log = logging.getLogger(__name__)


class Aws(Protocol):
    """What booting asks AWS; `AwsApi` is the real one. Every method may raise AwsError."""

    def list_instances(self) -> list[Instance]: ...  # noqa: D102 - documented in AwsApi
    def fetch_user_data(self, instance_id: str) -> str | None: ...  # noqa: D102
    def fetch_instance_type(self, name: str) -> InstanceType: ...  # noqa: D102
    def fetch_zone_id(self, zone: str) -> str | None: ...  # noqa: D102
    def fetch_volume_sizes(self, volume_ids: set[str]) -> dict[str, int]: ...  # noqa: D102
    def fetch_role_arn(self, profile_arn: str) -> str | None: ...  # noqa: D102
    def fetch_access_entry_type(self, cluster: str, role_arn: str) -> str | None: ...  # noqa: D102


class Kubernetes(Protocol):
    """What booting asks the API server; `KubernetesApi` is the real one. May raise KubernetesError."""

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Json: ...  # noqa: D102
    def create(self, path: str, body: Json) -> Json: ...  # noqa: D102
    def delete(self, path: str, *, uid: str) -> None: ...  # noqa: D102


class WillNotJoinError(Exception):
    """This machine never becomes a node, whatever happens later."""


class CannotJoinYetError(Exception):
    """The machine keeps trying to join, as a kubelet does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster that this world has, as its API server and its AWS region present it."""

    endpoint: str
    """URL of the API server."""
    certificate_authority: bytes
    """PEM of the certificate that signs the API server's."""
    region: str
    """AWS region."""
    kubelet_version: str
    """Version that nodes of this cluster run."""


@dataclass(slots=True, kw_only=True)
class Machine:
    """One instance on its way to becoming a node."""

    state: str = "pending"
    """pending, booting, waiting (may join later), joined or refused (never joins)."""
    node: str = ""
    """Name of its Node."""
    reason: str = ""
    """Why it has not joined."""
    running_since: float | None = None
    """Monotonic time of the pass that first saw it running."""
    config: NodeConfig | None = None
    """Its user data, once read."""
    missed_passes: int = 0
    """Passes in a row that did not see it."""


@dataclass(slots=True, kw_only=True)
class Boot:
    """The boot of every instance of one world."""

    aws: Aws
    kubernetes: Kubernetes
    cluster: Cluster
    folder: Path
    """The world's folder."""
    boot_delay_seconds: Callable[[], float]
    """How long a machine boots, now."""
    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])
    """By instance id."""
    volume_sizes: dict[str, int] = field(default_factory=dict[str, int])
    """Bytes of each root volume, by volume id."""
    verdicts: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Why an instance profile may not join a cluster, empty if it may; asked once per pass."""
    written: str = ""
    """Content of the status file."""

    def remember(self) -> None:
        """Take up what an earlier agent of this world has joined."""
        known = mapping(files.read_json(self.folder / STATUS_FILE), "instances")
        for instance_id, entry in known.items():
            if dig(entry, "state") == "joined":
                self.machines[instance_id] = Machine(state="joined", node=dig(entry, "node") or "")

    def step(self, now: float) -> None:
        """Bring Nodes in line with what EC2 runs.

        Args:
            now: Monotonic seconds.

        Raises:
            AwsError: AWS could not be asked; nothing was changed, or part of what was due.
            KubernetesError: The same of the API server.
        """
        instances = self.aws.list_instances()
        delay_seconds = self.boot_delay_seconds()
        self.verdicts.clear()
        try:
            self._forget_gone(instances)
            self._size_volumes(instances)
            for instance in instances:
                self._advance(instance, now, delay_seconds)
        finally:
            self._write_status()
        self._collect(instances)

    def _advance(self, instance: Instance, now: float, delay_seconds: float) -> None:
        machine = self.machines.setdefault(instance.instance_id, Machine())
        if instance.state != "running" or machine.state in {"joined", "refused"}:
            return
        if machine.running_since is None:
            machine.running_since = now
            _log.info("instance %s runs (%s)", instance.instance_id, instance.type_name)
        try:
            if machine.config is None:
                machine.config = self._read_user_data(instance)
                machine.state = "booting"
            if now - machine.running_since >= delay_seconds:
                self._join(instance, machine, machine.config)
        except WillNotJoinError as error:
            self._note(instance, machine, "refused", str(error))
        except (CannotJoinYetError, AwsError) as error:
            # One instance that AWS cannot explain must not hold up the others.
            self._note(instance, machine, "waiting", str(error))

    def _read_user_data(self, instance: Instance) -> NodeConfig:
        encoded = self.aws.fetch_user_data(instance.instance_id)
        if not encoded:
            raise WillNotJoinError("it has no user data, so nothing tells it which cluster to join")
        try:
            config = user_data.decode(encoded)
            kubelet.labels(config)
            kubelet.taints(config)
        except (user_data.UserDataError, kubelet.KubeletRefusedError) as error:
            raise WillNotJoinError(str(error)) from error
        if config.api_server_endpoint.rstrip("/") != self.cluster.endpoint.rstrip("/"):
            raise WillNotJoinError(
                f"its user data names the API server {config.api_server_endpoint}; "
                f"this world's is {self.cluster.endpoint}"
            )
        if not _same_certificate(config.certificate_authority, self.cluster.certificate_authority):
            raise WillNotJoinError(
                "its user data holds another certificate authority than this world's API server"
            )
        return config

    def _join(self, instance: Instance, machine: Machine, config: NodeConfig) -> None:
        self._require_access(instance, config.cluster_name)
        if not instance.private_dns_name:
            raise CannotJoinYetError("EC2 has given it no private DNS name yet")
        place = node.Place(
            region=self.cluster.region,
            zone_id=self.aws.fetch_zone_id(instance.zone),
            kubelet_version=self.cluster.kubelet_version,
            root_volume_bytes=self.volume_sizes.get(
                instance.root_volume_id or "", DEFAULT_VOLUME_BYTES
            ),
        )
        try:
            body = node.build(
                instance, self.aws.fetch_instance_type(instance.type_name), config, place
            )
            self.kubernetes.create(NODES, body)
        except kubelet.KubeletRefusedError as error:
            raise WillNotJoinError(str(error)) from error
        except KubernetesError as error:
            if error.status == 409:
                self._require_own(instance)
            elif error.status in {400, 403, 422}:
                raise WillNotJoinError(f"the API server refuses its Node: {error}") from error
            else:
                raise
        machine.node = instance.private_dns_name
        self._note(instance, machine, "joined", "")

    def _require_access(self, instance: Instance, cluster: str) -> None:
        if instance.profile_arn is None:
            raise CannotJoinYetError(
                "it has no instance profile, so no role that may join a cluster"
            )
        key = (instance.profile_arn, cluster)
        if key not in self.verdicts:
            self.verdicts[key] = self._access_problem(*key)
        if self.verdicts[key]:
            raise CannotJoinYetError(self.verdicts[key])

    def _access_problem(self, profile_arn: str, cluster: str) -> str:
        role = self.aws.fetch_role_arn(profile_arn)
        if role is None:
            return f"its instance profile {profile_arn} does not exist or holds no role"
        found = self.aws.fetch_access_entry_type(cluster, role)
        if found == "EC2_LINUX":
            return ""
        kind = f"an access entry of type {found}" if found else "no access entry"
        return f"its role {role} has {kind} in cluster {cluster!r}: it needs one of type EC2_LINUX"

    def _require_own(self, instance: Instance) -> None:
        """A Node of this name exists: fine if it is this machine's, made before a restart."""
        existing = self.kubernetes.get(f"{NODES}/{instance.private_dns_name}")
        if dig(existing, "spec", "providerID") != node.provider_id(instance):
            raise CannotJoinYetError(
                f"Node {instance.private_dns_name} belongs to {dig(existing, 'spec', 'providerID')}"
            )

    def _size_volumes(self, instances: list[Instance]) -> None:
        unknown = {
            instance.root_volume_id
            for instance in instances
            if instance.root_volume_id and instance.root_volume_id not in self.volume_sizes
        }
        if unknown:
            sizes = self.aws.fetch_volume_sizes(unknown)
            self.volume_sizes |= dict.fromkeys(unknown, DEFAULT_VOLUME_BYTES) | sizes

    def _forget_gone(self, instances: list[Instance]) -> None:
        present = {instance.instance_id for instance in instances}
        for instance_id, machine in list(self.machines.items()):
            machine.missed_passes = 0 if instance_id in present else machine.missed_passes + 1
            if machine.missed_passes >= GONE_PASSES:
                _log.info("instance %s is gone", instance_id)
                del self.machines[instance_id]

    def _collect(self, instances: list[Instance]) -> None:
        """Delete Nodes whose machine is shutting down or gone, as EKS' cloud controller does.

        Finalizers hold a Node until their owner lets go: the API server sees to that.
        """
        dying = {each.instance_id for each in instances if each.state == "shutting-down"}
        alive = self.machines.keys() - dying
        for found in items(self.kubernetes.get(NODES, FROM_CACHE), "items"):
            instance_id = node.instance_id(dig(found, "spec", "providerID"))
            if instance_id is None or instance_id in alive:
                continue
            if dig(found, "metadata", "deletionTimestamp"):
                continue
            name = dig(found, "metadata", "name")
            try:
                self.kubernetes.delete(f"{NODES}/{name}", uid=dig(found, "metadata", "uid"))
            except KubernetesError as error:
                if error.status != 404:
                    raise
            _log.info("node %s deleted: its instance %s is gone", name, instance_id)

    def _note(self, instance: Instance, machine: Machine, state: str, reason: str) -> None:
        if (machine.state, machine.reason) == (state, reason):
            return
        machine.state, machine.reason = state, reason
        if state == "joined":
            _log.info("instance %s joined as node %s", instance.instance_id, machine.node)
        else:
            _log.warning("instance %s does not join: %s", instance.instance_id, reason)

    def _write_status(self) -> None:
        entries = {
            instance_id: {"state": each.state, "node": each.node, "reason": each.reason}
            for instance_id, each in sorted(self.machines.items())
        }
        text = json.dumps({"instances": entries}, indent=2) + "\n"
        if text != self.written:
            files.write_private(self.folder / STATUS_FILE, text)
            self.written = text


def _same_certificate(encoded: str, expected: bytes) -> bool:
    try:
        return base64.b64decode(encoded, validate=False).strip() == expected.strip()
    except (binascii.Error, ValueError):
        return False
