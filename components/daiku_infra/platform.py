"""Platform: what most clusters want beside nodes, each part by itself: charts pinned, identity wired.

metrics-server is an add-on of EKS and belongs to Cluster; here is what comes as a Helm chart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from daiku_infra import manifests, naming, outputs, policies
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.load_balancer_statements import load_balancer_document
from daiku_infra.providers import aws, kubernetes
from daiku_infra.service_account_role import Identity, ServiceAccountRole, ServiceAccountRoleArgs


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A Helm chart at one version."""

    name: str
    """Its name in the repository."""
    repository: str
    """Where it is served."""
    version: str
    """Its version."""
    namespace: str
    """Namespace of its objects."""


LOAD_BALANCERS = Chart(
    name="aws-load-balancer-controller",
    repository="https://aws.github.io/eks-charts",
    version="1.17.0",
    namespace="kube-system",
)
PROMETHEUS = Chart(
    name="kube-prometheus-stack",
    repository="https://prometheus-community.github.io/helm-charts",
    version="75.15.1",
    namespace="monitoring",
)
KEDA = Chart(
    name="keda",
    repository="https://kedacore.github.io/charts",
    version="2.17.2",
    namespace="keda",
)
_TOLERATE = [{"key": manifests.SYSTEM_TAINT, "operator": "Exists"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformArgs:
    """What a Platform is made from."""

    cluster: ClusterRef
    """The cluster. The Kubernetes provider is given in the options."""
    identity: Identity = Identity.IRSA
    """How parts that call AWS get their role."""
    load_balancers: bool = False
    """AWS Load Balancer Controller: Ingress and Service objects become load balancers."""
    prometheus: bool = False
    """Prometheus with its operator, and Grafana."""
    keda: bool = False
    """KEDA: workloads scale by events."""


class Platform(pulumi.ComponentResource):
    """The optional parts of one cluster."""

    releases: list[str]
    """Names of the charts that are installed."""
    prometheus: pulumi.Output[str]
    """Name of Prometheus' release, once its definitions are there; empty without one."""

    def __init__(
        self, name: str, args: PlatformArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register what was asked for."""
        super().__init__("daiku:index:Platform", name, None, opts)
        self._args = args
        wanted: list[tuple[Chart, Mapping[str, Any]]] = []
        if args.load_balancers:
            wanted.append((LOAD_BALANCERS, self._load_balancer_values(name)))
        if args.prometheus:
            wanted.append((PROMETHEUS, _prometheus_values()))
        if args.keda:
            wanted.append((KEDA, {"tolerations": _TOLERATE}))
        made = {chart.name: self._release(name, chart, values) for chart, values in wanted}
        self.releases = [*made]
        self.prometheus = made.get(PROMETHEUS.name, pulumi.Output.from_input(""))
        self.register_outputs({"releases": self.releases, "prometheus": self.prometheus})

    def _release(self, name: str, chart: Chart, values: Mapping[str, Any]) -> pulumi.Output[str]:
        """One chart, once nodes can take its pods; its name, once it is installed."""
        release = kubernetes.helm.v3.Release(
            f"{name}-{chart.name}",
            name=chart.name,
            chart=chart.name,
            version=chart.version,
            namespace=chart.namespace,
            create_namespace=chart.namespace != "kube-system",
            repository_opts=kubernetes.helm.v3.RepositoryOptsArgs(repo=chart.repository),
            atomic=True,
            timeout=600,
            values=values,
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=outputs.before(self._args.cluster.system_nodes)
            ),
        )
        return outputs.once(chart.name, release.id)

    def _load_balancer_values(self, name: str) -> dict[str, Any]:
        """The load balancer controller's settings, with a role that it alone may assume."""
        cluster = self._args.cluster
        policy = aws.iam.Policy(
            f"{name}-load-balancers",
            name=naming.policy(cluster.name, cluster.region, "load-balancers"),
            policy=policies.managed(
                load_balancer_document(partition=cluster.partition, cluster=cluster.name)
            ),
            tags=cluster.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        role = ServiceAccountRole(
            f"{name}-load-balancers",
            ServiceAccountRoleArgs(
                cluster=cluster,
                namespace=LOAD_BALANCERS.namespace,
                service_account=LOAD_BALANCERS.name,
                identity=self._args.identity,
                policy_arns=[policy.arn],
            ),
            pulumi.ResourceOptions(parent=self),
        )
        account: dict[str, Any] = {"create": True, "name": LOAD_BALANCERS.name}
        if self._args.identity is Identity.IRSA:
            account["annotations"] = {"eks.amazonaws.com/role-arn": role.role_arn}
        return {
            "clusterName": cluster.name,
            "region": cluster.region,
            # It would ask the instance's metadata, which one hop does not reach.
            "vpcId": outputs.once(cluster.vpc_id, role.role_arn),
            "serviceAccount": account,
            "tolerations": _TOLERATE,
        }


def _prometheus_values() -> dict[str, Any]:
    """Every ServiceMonitor is taken, the controller's among them; pods may run on system nodes."""
    return {
        "prometheus": {
            "prometheusSpec": {
                "serviceMonitorSelectorNilUsesHelmValues": False,
                "tolerations": _TOLERATE,
            }
        },
        "prometheusOperator": {"tolerations": _TOLERATE},
        "kube-state-metrics": {"tolerations": _TOLERATE},
        "alertmanager": {"alertmanagerSpec": {"tolerations": _TOLERATE}},
        "grafana": {"tolerations": _TOLERATE},
    }
