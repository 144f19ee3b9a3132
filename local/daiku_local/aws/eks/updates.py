"""Updates: a change of a cluster or a part of it that takes a moment.

What is asked for is shown at once, while the status says UPDATING until the moment has passed;
the real service shows it at the end. Updates never fail here.
"""

import json
import uuid
from collections.abc import Callable
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.eks import errors, lookup
from daiku_local.aws.eks.records import Cluster

LATER_STATUS = "ACTIVE"


def begin(
    cloud: Cloud,
    found: Cluster,
    *,
    kind: str,
    parameters: dict[str, Any],
    resource: dict[str, Any],
    part: str = "",
    done: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Note an update of `resource` that ends by itself; gives the result of the operation.

    Args:
        cloud: The account.
        found: The cluster that is, or holds, what is updated.
        kind: Type of the update, such as "VersionUpdate".
        parameters: What changes, by the API's names of update parameters.
        resource: Description of what is updated; its status becomes UPDATING, then ACTIVE.
        part: Name of the node group or add-on, "" for the cluster itself.
        done: What else happens at the end.
    """
    update: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "status": "InProgress",
        "type": kind,
        "params": [{"type": name, "value": _text(value)} for name, value in parameters.items()],
        "createdAt": cloud.now(),
        "errors": [],
    }
    resource["status"] = "UPDATING"
    found.updates[f"{part}/{update['id']}"] = update

    def finish() -> None:
        update["status"] = "Successful"
        if resource["status"] == "UPDATING":
            resource["status"] = LATER_STATUS
        if done is not None:
            done()

    cloud.timeline.after(cloud.weather.forecast.control_plane_seconds, finish)
    return {"update": update}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeUpdate."""
    found = lookup.cluster(cloud, asked["name"])
    update = found.updates.get(f"{_part(asked)}/{asked['updateId']}")
    if update is None:
        raise errors.not_found(f"No update found for ID: {asked['updateId']}")
    return {"update": update}


def list_ids(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListUpdates."""
    found = lookup.cluster(cloud, asked["name"])
    prefix = f"{_part(asked)}/"
    ids = [key.removeprefix(prefix) for key in found.updates if key.startswith(prefix)]
    return lookup.page(ids, asked, "updateIds")


def _part(asked: Asked) -> str:
    return str(asked.get("nodegroupName") or asked.get("addonName") or "")


HANDLERS = {"DescribeUpdate": describe, "ListUpdates": list_ids}
