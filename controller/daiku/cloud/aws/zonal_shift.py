"""Zones that the cluster is shifted away from: a person or AWS has said that they are not to be relied on.

While a shift lasts, nothing is bought in the zone; what runs there goes on.

Source: ARC zonal shift, GetManagedResource; Karpenter's reading of it (applied, and not expired).
"""

from datetime import datetime

from daiku.cloud.aws.answers import parts
from daiku.cloud.aws.session import Session


def away_from(session: Session, cluster_arn: str, now: datetime) -> frozenset[str]:
    """Ids of the zones, such as usw2-az1.

    Raises:
        CloudError: The cluster is not registered for zonal shift, or nobody answers.
    """
    found = session.call("arc-zonal-shift", "get_managed_resource", resourceIdentifier=cluster_arn)
    return frozenset(
        shift["awayFrom"]
        for shift in parts(found, "zonalShifts")
        if shift.get("appliedStatus") == "APPLIED" and shift["expiryTime"] > now
    )
