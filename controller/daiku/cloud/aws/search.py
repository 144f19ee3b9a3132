"""The instance of a claim, found by its tag: after a restart, when nobody knows whether a launch was answered.

Claims that ask at once share a call: the filter of one call names up to 200 of them.

Source: Karpenter's DescribeInstances batching (100 ms idle, 1 s at most); EC2's limit of 200 values of a filter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daiku.cloud import errors
from daiku.cloud.aws.answers import part, parts
from daiku.cloud.aws.batching import Batcher
from daiku.cloud.aws.fleet import Pool
from daiku.cloud.aws.session import Session
from daiku.model import labels

NODE_CLAIM_TAG: Final = "karpenter.sh/nodeclaim"
ALIVE: Final = ("pending", "running", "stopping", "stopped")
ONLY_RESERVED: Final = "capacity-reservations-only"
OPEN_SECONDS: Final = 0.1
"""How long others may join."""
CLAIMS_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """The instance of a claim."""

    instance_id: str
    instance_type: str
    zone: str
    capacity_type: str
    image: str
    reservation: str = ""
    """The capacity reservation that it runs in."""
    sold_out: tuple[Pool, ...] = ()


def make(session: Session) -> Batcher[str, str, Instance | None]:
    """What finds instances: given a cluster and the name of a claim, it gives its instance."""

    def execute(
        cluster: str, claims: Sequence[str]
    ) -> Sequence[Instance | errors.CloudError | None]:
        try:
            found = _find(session, cluster, list(dict.fromkeys(claims)))
        except errors.CloudError as error:
            return [error] * len(claims)
        return [found.get(claim) for claim in claims]

    return Batcher(
        name="describe_instances",
        execute=execute,
        open_seconds=lambda: OPEN_SECONDS,
        items_max=CLAIMS_MAX,
    )


def _find(session: Session, cluster: str, claims: list[str]) -> dict[str, Instance]:
    filters = [
        {"Name": f"tag:{NODE_CLAIM_TAG}", "Values": claims},
        {"Name": "tag:eks:eks-cluster-name", "Values": [cluster]},
        {"Name": "instance-state-name", "Values": list(ALIVE)},
    ]
    found: dict[str, Instance] = {}
    for page in session.pages("ec2", "describe_instances", Filters=filters):
        for reservation in page["Reservations"]:
            for each in reservation["Instances"]:
                tags = {t["Key"]: t["Value"] for t in parts(each, "Tags")}
                used = reservation_of(each)
                instance = Instance(
                    instance_id=each["InstanceId"],
                    instance_type=each["InstanceType"],
                    zone=each["Placement"]["AvailabilityZone"],
                    capacity_type=_capacity_type(each, used),
                    image=each.get("ImageId", ""),
                    reservation=used,
                )
                found.setdefault(tags.get(NODE_CLAIM_TAG, ""), instance)
    return found


def reservation_of(each: Mapping[str, Any]) -> str:
    """The reservation that an instance was launched for; one that it only happens to fill is none."""
    wanted = part(each, "CapacityReservationSpecification").get("CapacityReservationPreference")
    return each.get("CapacityReservationId", "") if wanted == ONLY_RESERVED else ""


def _capacity_type(each: Mapping[str, Any], reservation: str) -> str:
    if each.get("InstanceLifecycle") == "spot":
        return labels.SPOT
    return labels.RESERVED if reservation else labels.ON_DEMAND
