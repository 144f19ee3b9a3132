"""What Pulumi's dynamic provider runs for a Drain: nothing, until it is deleted.

State holds a reference to this class by its name, so that a newer library can delete what an older one
made.
"""

import os
from typing import Any

from pulumi import dynamic

from daiku_infra import draining


class DrainProvider(dynamic.ResourceProvider):
    """Makes nothing; takes the nodes of a cluster away when it is deleted."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Remember whom to drain."""
        return dynamic.CreateResult(id_=f"drain-{props['cluster']}", outs=props)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Never replace: a replacement would drain a cluster that lives on."""
        keys = (_olds.keys() | _news.keys()) - {"__provider"}
        return dynamic.DiffResult(
            changes=any(_olds.get(key) != _news.get(key) for key in keys), replaces=[]
        )

    def update(
        self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]
    ) -> dynamic.UpdateResult:
        """Remember something else."""
        return dynamic.UpdateResult(outs=_news)

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Drain and sweep."""
        if _props.get("aws_profile"):
            os.environ.setdefault("AWS_PROFILE", _props["aws_profile"])
        # Here, so that a preview does not load boto3 and a Kubernetes client.
        from daiku_infra import aws_door, cluster_door  # noqa: PLC0415

        cluster, region = str(_props["cluster"]), str(_props["region"])
        draining.drain(
            cluster_door.open_door(
                _props["kubeconfig"],
                token=lambda: aws_door.cluster_token(cluster, region),
                namespace=str(_props["namespace"]),
                lease=str(_props["lease"]),
            ),
            aws_door.Account(cluster, region),
            deadline_seconds=float(_props["deadline_seconds"]),
            say=lambda text: print(text, flush=True),  # noqa: T201 - Pulumi shows what a plugin prints
        )
