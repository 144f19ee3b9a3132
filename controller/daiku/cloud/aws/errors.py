"""What AWS's error codes mean for us: one table, from code to what is done next.

A row says three things: what the caller does (the kind of error), which pools the answer is true of as well, so that
nobody asks them again for a while, and what a person reads (reason and remedy). Codes that mean different things are
told apart by what their message says.

Source: EC2 API error codes; Karpenter's classification of launch errors and the reasons of its CreateError.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from botocore import exceptions

from daiku import reasons
from daiku.cloud import errors
from daiku.reason import Reason

SPOT_FORBIDDEN: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
"""No spot at all in this account until a person makes the service-linked role."""
TOKEN_REUSED: Final = "IdempotentParameterMismatch"  # noqa: S105  # a code, not a secret
TEMPLATE_GONE: Final = frozenset(
    {
        "InvalidLaunchTemplateName.NotFoundException",
        "InvalidLaunchTemplateId.NotFound",
        "InvalidLaunchTemplateId.NotFoundException",
    }
)
"""Somebody removed a launch template: it is made again and the launch repeated, once."""


class ResourceNotFound(errors.LaunchRefused):
    """Something that a request names does not exist (any more)."""


class Scope(enum.Enum):
    """Which pools an answer about one pool is true of."""

    NONE = "none"
    POOL = "pool"
    """This type, in this zone, bought this way."""
    SUBNET = "subnet"
    """Everything in this subnet; the zone, when it is the last of the node class there."""
    QUOTA = "quota"
    """Everything bought this way that counts against the same quota and is no smaller."""
    CAPACITY_TYPE = "capacity type"
    """Everything bought this way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """One row of the table."""

    kind: type[errors.CloudError]
    scope: Scope = Scope.NONE
    reason: Reason = reasons.LAUNCH_FAILED
    """Reason of the condition Launched, and of the metric of failed launches."""
    remedy: str = ""
    """What a person does about it; empty: nothing, or it shows from the message."""


_SOLD_OUT: Final = Meaning(
    kind=errors.InsufficientCapacity, scope=Scope.POOL, reason=reasons.INSUFFICIENT_CAPACITY
)
_QUOTA: Final = "ask for a higher quota in Service Quotas, or allow other instance families"
_THROTTLED: Final = Meaning(kind=errors.Throttled, reason=reasons.REQUEST_LIMIT_EXCEEDED)
_DENIED: Final = Meaning(
    kind=errors.Denied, reason=reasons.UNAUTHORIZED, remedy="allow it in the controller's IAM role"
)
_CREDENTIALS: Final = Meaning(
    kind=errors.Denied,
    reason=reasons.UNAUTHORIZED,
    remedy="mend the credentials: the role of the ServiceAccount, its trust policy, or the keys",
)
_SILENT: Final = Meaning(kind=errors.Unreachable, reason=reasons.INTERNAL_ERROR)
_ABSENT: Final = Meaning(kind=ResourceNotFound)
_NO_TEMPLATE: Final = Meaning(kind=ResourceNotFound, reason=reasons.LAUNCH_TEMPLATE_NOT_FOUND)
_OTHER: Final = Meaning(kind=errors.LaunchRefused)

TABLE: Final[Mapping[str, Meaning]] = {
    "InsufficientInstanceCapacity": _SOLD_OUT,
    "InsufficientHostCapacity": _SOLD_OUT,
    "InsufficientCapacity": _SOLD_OUT,
    "InsufficientReservedInstanceCapacity": _SOLD_OUT,
    "ReservationCapacityExceeded": _SOLD_OUT,
    "UnfulfillableCapacity": _SOLD_OUT,
    "Unsupported": _SOLD_OUT,
    "MaxFleetCountExceeded": Meaning(
        kind=errors.InsufficientCapacity,
        scope=Scope.POOL,
        reason=reasons.FLEET_QUOTA_EXCEEDED,
        remedy="ask for a higher quota of fleets in Service Quotas",
    ),
    "MaxSpotInstanceCountExceeded": Meaning(
        kind=errors.InsufficientCapacity,
        scope=Scope.QUOTA,
        reason=reasons.SPOT_QUOTA_EXCEEDED,
        remedy=_QUOTA,
    ),
    "VcpuLimitExceeded": Meaning(
        kind=errors.InsufficientCapacity,
        scope=Scope.QUOTA,
        reason=reasons.VCPU_LIMIT_EXCEEDED,
        remedy=_QUOTA,
    ),
    "InsufficientFreeAddressesInSubnet": Meaning(
        kind=errors.InsufficientCapacity,
        scope=Scope.SUBNET,
        reason=reasons.NO_FREE_ADDRESSES,
        remedy="select more or larger subnets in the EC2NodeClass",
    ),
    SPOT_FORBIDDEN: Meaning(
        kind=errors.InsufficientCapacity,
        scope=Scope.CAPACITY_TYPE,
        reason=reasons.SPOT_ROLE_MISSING,
        remedy="make the role once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
    ),
    "InvalidInstanceID.NotFound": Meaning(kind=errors.InstanceUnknown),
    "InvalidInstanceID.Malformed": Meaning(kind=errors.InstanceNotFound),
    "RequestLimitExceeded": _THROTTLED,
    "RequestThrottled": _THROTTLED,
    "Throttling": _THROTTLED,
    "ThrottlingException": _THROTTLED,
    "ThrottledException": _THROTTLED,
    "TooManyRequestsException": _THROTTLED,
    "SlowDown": _THROTTLED,
    "UnauthorizedOperation": _DENIED,
    "AccessDenied": _DENIED,
    "AccessDeniedException": _DENIED,
    "AuthorizationError": _DENIED,
    "AuthFailure": _CREDENTIALS,
    "ExpiredToken": _CREDENTIALS,
    "ExpiredTokenException": _CREDENTIALS,
    "InvalidIdentityToken": _CREDENTIALS,
    "InvalidClientTokenId": _CREDENTIALS,
    "UnrecognizedClientException": _CREDENTIALS,
    "SignatureDoesNotMatch": _CREDENTIALS,
    "OptInRequired": Meaning(
        kind=errors.Denied,
        reason=reasons.UNAUTHORIZED,
        remedy="subscribe the account to the service",
    ),
    "PendingVerification": Meaning(
        kind=errors.Denied,
        reason=reasons.ACCOUNT_PENDING,
        remedy="wait until AWS has verified the account, or ask AWS Support",
    ),
    "InternalError": _SILENT,
    "InternalFailure": _SILENT,
    "ServiceUnavailable": _SILENT,
    "Unavailable": _SILENT,
    "ServiceException": _SILENT,
    "RequestExpired": _SILENT,
    **dict.fromkeys(TEMPLATE_GONE, _NO_TEMPLATE),
    "InvalidAMIID.NotFound": Meaning(
        kind=ResourceNotFound,
        reason=reasons.AMI_NOT_FOUND,
        remedy="choose an image that exists in amiSelectorTerms",
    ),
    "InvalidAMIID.Unavailable": Meaning(kind=ResourceNotFound, reason=reasons.AMI_NOT_FOUND),
    "InvalidAMIID.Malformed": Meaning(
        kind=errors.LaunchRefused,
        reason=reasons.INVALID_AMI_ID,
        remedy="give ids of the form ami-... in amiSelectorTerms",
    ),
    "InvalidSubnetID.NotFound": Meaning(
        kind=ResourceNotFound,
        reason=reasons.SUBNET_RESOLUTION_FAILED,
        remedy="the EC2NodeClass selects again within a minute",
    ),
    "InvalidGroup.NotFound": _ABSENT,
    "InvalidCapacityReservationId.NotFound": _ABSENT,
    "InvalidPlacementGroup.Unknown": _ABSENT,
    "InvalidPlacementGroupId.Unknown": _ABSENT,
    "InvalidKeyPair.NotFound": _ABSENT,
    "ParameterNotFound": _ABSENT,
    "AWS.SimpleQueueService.NonExistentQueue": _ABSENT,
    "QueueDoesNotExist": _ABSENT,
    "NoSuchEntity": _ABSENT,
    "ResourceNotFoundException": _ABSENT,
    "InvalidBlockDeviceMapping": Meaning(
        kind=errors.LaunchRefused, remedy="mend blockDeviceMappings of the EC2NodeClass"
    ),
    "EntityAlreadyExists": _OTHER,
    TOKEN_REUSED: _OTHER,
}
"""Code -> what is done next; any other is LaunchRefused, or Unreachable when AWS answered 5xx."""

SAID: Final = (
    (
        "UnauthorizedOperation",
        "Not authorized for images",
        Meaning(
            kind=errors.Denied,
            reason=reasons.AMI_AUTHORIZATION_FAILURE,
            remedy="have the owner of the image share it with this account",
        ),
    ),
    (
        "AuthFailure",
        "Not authorized for images",
        Meaning(
            kind=errors.Denied,
            reason=reasons.AMI_AUTHORIZATION_FAILURE,
            remedy="have the owner of the image share it with this account",
        ),
    ),
    (
        "InvalidParameter",
        "belong to different networks",
        Meaning(
            kind=errors.LaunchRefused,
            reason=reasons.VPC_MISMATCH,
            remedy="select security groups and subnets of one VPC in the EC2NodeClass",
        ),
    ),
    (
        "InvalidParameterValue",
        "Invalid IAM Instance Profile name",
        Meaning(
            kind=errors.LaunchRefused,
            reason=reasons.INSTANCE_PROFILE_NAME_INVALID,
            remedy="name an instance profile that exists; one just made takes IAM some seconds",
        ),
    ),
    (
        "InvalidParameterCombination",
        "not eligible for Free Tier",
        Meaning(
            kind=errors.LaunchRefused,
            reason=reasons.FREE_TIER_INELIGIBLE,
            remedy="upgrade the account's plan, or allow only types of the Free Tier in the NodePool",
        ),
    ),
    (
        "InvalidUserData.Malformed",
        "User data is limited to",
        Meaning(
            kind=errors.LaunchRefused,
            reason=reasons.USER_DATA_TOO_LONG,
            remedy="shorten spec.userData of the EC2NodeClass: 16384 bytes with what is added",
        ),
    ),
)
"""(code, part of the message, row): these before TABLE."""

DENIED_BY: Final = (
    (
        "permissions boundary",
        "a permissions boundary of the controller's role denies it: allow it there",
    ),
    (
        "service control policy",
        "a service control policy of the organisation denies it: allow it there",
    ),
    (
        "no identity-based policy",
        "no policy of the controller's role allows it: attach the controller's policies",
    ),
)
"""(part of the message of a denial, remedy)."""


def meaning(code: str, message: str = "", status: int = 0) -> Meaning:
    """The row for an error code, with the message and the HTTP status that came with it."""
    for of, part, row in SAID:
        if code == of and part in message:
            return row
    known = TABLE.get(code)
    if known is not None:
        return known
    return _SILENT if status >= 500 else _OTHER


def translate(asked: str, error: Exception) -> errors.CloudError:
    """The error for what boto3 raised; `asked` is the call in a few words."""
    if isinstance(error, exceptions.ClientError):
        answer: dict[str, Any] = cast("Any", error.response)
        said = answer.get("Error", {})
        code, message = str(said.get("Code", "")), str(said.get("Message", ""))
        about = answer.get("ResponseMetadata", {})
        return of_code(
            code,
            f"{asked}: {code}: {message}",
            about.get("HTTPStatusCode", 0),
            retry_after(about.get("HTTPHeaders", {})),
        )
    if isinstance(error, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        return errors.Denied(
            f"{asked}: {error}. Give the ServiceAccount an IAM role (eks.amazonaws.com/role-arn), "
            "or set AWS_PROFILE or AWS_ACCESS_KEY_ID",
            reason=reasons.UNAUTHORIZED,
        )
    if isinstance(error, exceptions.ParamValidationError):
        return errors.LaunchRefused(f"{asked}: {error}", code="ParamValidation")
    return errors.Unreachable(f"{asked}: {error}", reason=reasons.INTERNAL_ERROR)


def of_code(
    code: str,
    message: str,
    status: int = 0,
    retry_after_seconds: float | None = None,
    row: Meaning | None = None,
) -> errors.CloudError:
    """The error for an AWS error code; `row` when the message does not show it."""
    row = row or meaning(code, message, status)
    # What follows is for `aws sts decode-authorization-message`, and longer than a condition should be.
    message = message.partition(" Encoded authorization failure message")[0]
    remedy = next((r for part, r in DENIED_BY if part in message), row.remedy)
    text = f"{message}; {remedy}" if remedy else message
    if issubclass(row.kind, errors.InsufficientCapacity):
        return row.kind(text, code=code, reason=row.reason)
    return row.kind(text, code=code, reason=row.reason, retry_after_seconds=retry_after_seconds)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait; None when it does not say."""
    text = headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
