"""ARC zonal shift: whether a cluster is registered, and which zones it is shifted away from by the weather."""

from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.errors import AwsError

LASTS_SECONDS = 3600.0


def get_managed_resource(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """GetManagedResource: an EKS cluster is one once its zonal shift is enabled."""
    arn = str(asked["resourceIdentifier"])
    clusters = (cluster.description for cluster in cloud.clusters.by_name.values())
    found = next((each for each in clusters if each["arn"] == arn), None)
    config: dict[str, Any] = (found or {}).get("zonalShiftConfig") or {}
    if found is None or not config.get("enabled"):
        raise AwsError(
            "ResourceNotFoundException", f"{arn} is not registered for zonal shift", status=404
        )
    now, zones = cloud.now(), cloud.weather.forecast.shifted_zones
    return {
        "arn": arn,
        "name": found["name"],
        "appliedWeights": {},
        "autoshifts": [],
        "zonalShifts": [
            {
                "appliedStatus": "APPLIED",
                "awayFrom": zone,
                "comment": "the weather",
                "expiryTime": now + LASTS_SECONDS,
                "resourceIdentifier": arn,
                "startTime": now,
                "zonalShiftId": f"00000000-0000-0000-0000-{number:012d}",
            }
            for number, zone in enumerate(zones)
        ],
    }


HANDLERS = {"GetManagedResource": get_managed_resource}
