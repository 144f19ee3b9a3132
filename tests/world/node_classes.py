"""An account with a network and a cluster, and the controller's way to it: what tests of node classes share."""

import datetime as dt
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests import build
from tests.world import aws_account
from tests.world.aws_account import Account, Network

from daiku.cloud.aws import status
from daiku.cloud.aws.provider import AwsOptions, AwsProvider
from daiku.cloud.aws.session import Session
from daiku.model.condition import Condition
from daiku.model.instance_type import NodeClassRef
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
REF = NodeClassRef(group="karpenter.k8s.aws", kind="EC2NodeClass", name="default")


@dataclass(kw_only=True)
class Aws:
    """An account with a network and a cluster, and the controller's way to it."""

    account: Account
    network: Network
    provider: AwsProvider

    def resolve(self, found: NodeClass) -> dict[str, Condition]:
        """Conditions by type."""
        return {c.type: c for c in status.resolve(self.provider, found, NOW).conditions}

    def ready(self, **spec: Any) -> NodeClass:
        """A node class that is Ready, with its status."""
        found = self.node_class(**spec)
        resolved = status.resolve(self.provider, found, NOW)
        assert resolved.conditions[-1].status == "True", resolved.conditions[-1].message
        annotations = {k: v for k, v in resolved.annotations.items() if v is not None}
        return replace(
            found,
            meta=replace(found.meta, annotations=annotations),
            status=resolved.fields,
            conditions=resolved.conditions,
            ready=True,
        )

    def node_class(self, **spec: Any) -> NodeClass:
        given = {
            "role": self.network.role.rpartition("/")[2],
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": [{"id": subnet} for subnet in self.network.subnets],
            "securityGroupSelectorTerms": [{"id": self.network.group}],
            **spec,
        }
        kept = {name: value for name, value in given.items() if value is not None}
        meta = replace(build.meta("default"), uid=uuid.uuid4().hex)
        return NodeClass(meta=meta, ref=REF, ready=False, spec=kept, status={})


def claim(name: str) -> NodeClaim:
    """A claim that is not launched yet."""
    return build.node_claim(name, launched=False)


@contextmanager
def running(folder: Path) -> Generator[Aws]:
    """The layer of a world with a cluster named demo."""
    with aws_account.running(folder) as account, pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", account.world.aws_endpoint)
        environment.setenv("AWS_ACCESS_KEY_ID", "local")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "local")
        place = aws_account.network(account)
        role = aws_account.role(account, "cluster", "eks.amazonaws.com")
        account.client("eks").create_cluster(
            name="demo",
            version="1.34",
            roleArn=role,
            resourcesVpcConfig={"subnetIds": place.subnets, "securityGroupIds": [place.group]},
        )
        options = AwsOptions(
            cluster_name="demo", cluster_endpoint="https://api.demo", cluster_ca_bundle="Q0E="
        )
        provider = AwsProvider(Session(account.world.region), options, lambda: NOW)
        yield Aws(account=account, network=place, provider=provider)
