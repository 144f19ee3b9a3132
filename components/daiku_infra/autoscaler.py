"""Autoscaler: the controller in its cluster, with its API and no more rights than it uses.

It is made after the nodes it runs on, and so on destroy it goes before them. What it manages must
in turn go before it: pass `controller` to NodePools.
"""

from dataclasses import dataclass, field
from pathlib import Path

import pulumi

from daiku_infra import controller_settings, crds, manifests, monitoring, objects, outputs
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.controller_settings import ControllerSettingsArgs
from daiku_infra.service_account_role import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerArgs:
    """What an Autoscaler is made from."""

    cluster: ClusterRef
    """The cluster it runs in and scales. The Kubernetes provider is given in the options."""
    role_arn: pulumi.Input[str]
    """IAM role of its ServiceAccount `daiku`, known once the ServiceAccount can have it."""
    identity: Identity = Identity.IRSA
    """How its pods come to the role."""
    queue_name: pulumi.Input[str]
    """Queue that interruptions are announced in."""
    image: pulumi.Input[str]
    """Image reference."""
    replicas: int = 2
    """Pods, at least 1. One leads; another takes over within seconds."""
    namespace: str = "kube-system"
    """Namespace, which must exist."""
    cpu_request: str = "500m"
    """CPU that each pod asks for, as Kubernetes writes it."""
    memory: str = "1Gi"
    """Memory that each pod asks for, and its limit."""
    settings: ControllerSettingsArgs = field(default_factory=ControllerSettingsArgs)
    """How it works."""
    environment: dict[str, str] = field(default_factory=dict[str, str])
    """Further variables of its environment, over those that follow from the arguments above."""
    service_monitor: bool = False
    """Have Prometheus' operator scrape it. The operator's definitions must be in the cluster."""
    monitoring: bool = False
    """Its alerts, for Prometheus' operator, and its dashboards, for Grafana's sidecar."""
    prometheus: pulumi.Input[str] = ""
    """Something of the operator, known once its definitions are there; for the two above."""
    priority_class: str = "system-cluster-critical"
    """Priority of its pods, above all that it makes room for."""
    crd_folder: str | None = None
    """Folder of the API's definitions; those of the controller beside this package when absent."""


class Autoscaler(pulumi.ComponentResource):
    """The controller, running."""

    controller: pulumi.Output[str]
    """Name of its Deployment, once it is rolled out."""

    def __init__(
        self, name: str, args: AutoscalerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the controller's resources."""
        super().__init__("daiku:index:Autoscaler", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        folder = Path(args.crd_folder) if args.crd_folder else crds.folder()
        # Rights and API first, and last to go: a controller without them could finish nothing.
        controller = _controller(args)
        definitions = {f"crd-{crd['spec']['names']['plural']}": crd for crd in crds.load(folder)}
        rights = {
            "service-account": manifests.service_account(controller),
            "cluster-role": manifests.cluster_role(controller),
            "cluster-role-binding": manifests.cluster_role_binding(controller),
            "role": manifests.role(controller),
            "role-binding": manifests.role_binding(controller),
            "disruption-budget": manifests.disruption_budget(controller),
            "metrics": manifests.metrics_service(controller),
        }
        needed = [
            objects.KubernetesObject(f"{name}-{label}", manifest, own)
            for label, manifest in {**definitions, **rights}.items()
        ]
        deployment = objects.KubernetesObject(
            name,
            manifests.deployment(controller),
            pulumi.ResourceOptions(
                parent=self,
                depends_on=[*needed, *outputs.before(args.cluster.system_nodes, args.role_arn)],
            ),
        )
        watching = pulumi.ResourceOptions(parent=self, depends_on=outputs.before(args.prometheus))
        for label, manifest in _watched(args, controller, folder).items():
            objects.KubernetesObject(f"{name}-{label}", manifest, watching)
        self.controller = deployment.metadata["name"]
        self.register_outputs({"controller": self.controller})


def _watched(
    args: AutoscalerArgs, controller: manifests.Controller, folder: Path
) -> dict[str, manifests.Manifest]:
    """What others watch it by. The controller does not wait for it: they may come later."""
    watched: dict[str, manifests.Manifest] = {}
    if args.service_monitor:
        watched["service-monitor"] = manifests.service_monitor(controller)
    if args.monitoring:
        watched |= monitoring.manifests(folder.parent / monitoring.FOLDER, args.namespace)
    return watched


def _controller(args: AutoscalerArgs) -> manifests.Controller:
    """What the manifests need of the arguments."""
    return manifests.Controller(
        namespace=args.namespace,
        image=args.image,
        replicas=args.replicas,
        cluster=args.cluster.name,
        region=args.cluster.region,
        role_arn=args.role_arn if args.identity is Identity.IRSA else None,
        queue_name=args.queue_name,
        cpu_request=args.cpu_request,
        memory=args.memory,
        priority_class=args.priority_class,
        environment={**controller_settings.environment(args.settings), **args.environment},
    )
