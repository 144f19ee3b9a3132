"""What each message of the interruption queue means; the forms are those that EventBridge and AWS Health document."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from daiku.cloud.aws import messages
from daiku.model import interruption

ID = "i-0123456789abcdef0"


def event(detail_type: str, detail: Any, *, source: str = "aws.ec2", version: str = "0") -> str:
    return json.dumps(
        {
            "version": version,
            "id": "7bf73129-1428-4cd3-a780-95db273d1602",
            "detail-type": detail_type,
            "source": source,
            "account": "123456789012",
            "time": "2026-03-02T12:00:00Z",
            "region": "us-west-2",
            "resources": [f"arn:aws:ec2:us-west-2:123456789012:instance/{ID}"],
            "detail": detail,
        }
    )


def state(name: str) -> str:
    return event("EC2 Instance State-change Notification", {"instance-id": ID, "state": name})


def health(**changes: Any) -> str:
    detail = {
        "service": "EC2",
        "eventTypeCategory": "scheduledChange",
        "affectedEntities": [{"entityValue": ID}, {"entityValue": "i-2"}, {"entityValue": ID}],
    }
    return event("AWS Health Event", {**detail, **changes}, source="aws.health")


SPOT = "EC2 Spot Instance Interruption Warning"


@pytest.mark.parametrize(
    ("body", "kind", "instances"),
    [
        pytest.param(
            event(SPOT, {"instance-id": ID, "instance-action": "terminate"}),
            interruption.SPOT,
            (ID,),
            id="a spot instance is taken back",
        ),
        pytest.param(
            event(SPOT, {"instance-id": ID, "instance-action": "hibernate"}),
            interruption.SPOT,
            (ID,),
            id="whatever is done to it",
        ),
        pytest.param(
            event("EC2 Instance Rebalance Recommendation", {"instance-id": ID}),
            interruption.REBALANCE,
            (ID,),
            id="a recommendation",
        ),
        pytest.param(
            event("EC2 Capacity Reservation Instance Interruption Warning", {"instance-id": ID}),
            interruption.RESERVATION,
            (ID,),
            id="a reservation is taken back",
        ),
        pytest.param(state("stopping"), interruption.STOPPED, (ID,), id="stopping"),
        pytest.param(state("stopped"), interruption.STOPPED, (ID,), id="stopped"),
        pytest.param(state("shutting-down"), interruption.TERMINATED, (ID,), id="shutting down"),
        pytest.param(state("TERMINATED"), interruption.TERMINATED, (ID,), id="case is ignored"),
        pytest.param(state("running"), interruption.NO_OP, (), id="running is no end"),
        pytest.param(state("pending"), interruption.NO_OP, (), id="pending is no end"),
        pytest.param(
            health(),
            interruption.SCHEDULED_CHANGE,
            (ID, "i-2"),
            id="a scheduled change names each instance once",
        ),
        pytest.param(health(service="RDS"), interruption.NO_OP, (), id="of another service"),
        pytest.param(
            health(eventTypeCategory="issue"), interruption.NO_OP, (), id="of another category"
        ),
        pytest.param(health(affectedEntities=None), interruption.NO_OP, (), id="of nothing"),
        pytest.param(
            health(affectedEntities=["i-1", {"entityValue": "vol-1"}]),
            interruption.NO_OP,
            (),
            id="of no instance",
        ),
        pytest.param(
            event(SPOT, {"instance-id": ID}, version="1"),
            interruption.NO_OP,
            (),
            id="another version of the form",
        ),
        pytest.param(
            event(SPOT, {"instance-id": ID}, source="mine"), interruption.NO_OP, (), id="forged"
        ),
        pytest.param(event("EC2 Something New", {}), interruption.NO_OP, (), id="a new kind"),
        pytest.param(event(SPOT, {}), interruption.NO_OP, (), id="without an instance"),
        pytest.param(event(SPOT, "text"), interruption.NO_OP, (), id="detail of another form"),
        pytest.param("", interruption.NO_OP, (), id="empty"),
        pytest.param("{}", interruption.NO_OP, (), id="an empty object"),
        pytest.param(
            json.dumps({"version": ["0"], "source": {}, "detail-type": None}),
            interruption.NO_OP,
            (),
            id="an envelope of other types",
        ),
    ],
)
def test_a_message_means(body: str, kind: str, instances: tuple[str, ...]) -> None:
    message = messages.parse(body)

    assert (message.kind, message.instance_ids) == (kind, instances)


def test_the_time_of_a_message_is_that_of_the_event() -> None:
    assert messages.parse(state("stopped")).at == datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize("body", [None, "hello", "[1]", '"text"', "{", "NaN"])
def test_what_is_no_event_is_unreadable(body: str | None) -> None:
    with pytest.raises(messages.Unreadable):
        messages.parse(body)
