"""AWS for a drain: what carries a cluster's tags, and a token for its API server.

The listing is the controller's own (daiku.cloud.aws.leftovers), so that a destroy removes exactly what
`daiku doctor --leftovers` lists.
"""

import base64
from typing import Any

import boto3.session
import botocore.signers

from daiku.cloud.aws import leftovers
from daiku.cloud.aws.session import Session

_TOKEN_SECONDS = 60
"""EKS takes a token for 15 minutes, and its URL for no longer than this."""


class Account:
    """The account that a cluster's nodes are in."""

    def __init__(self, cluster: str, region: str) -> None:
        """Look for what belongs to `cluster` in `region`."""
        self._cluster = cluster
        self._session = Session(region)

    def _found(self) -> list[leftovers.Leftover]:
        return leftovers.find(self._session, self._cluster)

    def leftovers(self) -> list[str]:
        """What can be removed."""
        return [f"{item.kind} {item.identifier}" for item in self._found() if item.removable]

    def remove_leftovers(self) -> list[str]:
        """Ask for the removal of all of it; give what AWS says against it."""
        refused = leftovers.remove(self._session, self._found())
        return [f"{item.identifier}: {problem}" for item, problem in refused.items()]

    def kept(self) -> list[str]:
        """What is not removed here."""
        return [f"{item.kind} {item.identifier}" for item in self._found() if not item.removable]


def cluster_token(cluster: str, region: str) -> str:
    """Make the token by which EKS knows this principal: a signed request that only STS can redeem."""
    session: Any = boto3.session.Session(region_name=region)
    sts = session.client("sts")
    signer: Any = botocore.signers.RequestSigner(
        sts.meta.service_model.service_id,
        region,
        "sts",
        "v4",
        session.get_credentials(),
        session.events,
    )
    url: str = signer.generate_presigned_url(
        {
            "method": "GET",
            "url": f"https://sts.{region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": cluster},
            "context": {},
        },
        region_name=region,
        expires_in=_TOKEN_SECONDS,
        operation_name="",
    )
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
