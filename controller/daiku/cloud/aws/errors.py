"""What AWS's error codes mean for us: one table, from code to what is done next.

Source: EC2 API error codes; Karpenter's classification (which codes mean "this pool is sold out").
"""

from typing import Any, Final, cast

from botocore import exceptions

from daiku.cloud import errors

SOLD_OUT: Final = frozenset(
    {
        "InsufficientInstanceCapacity",
        "MaxSpotInstanceCountExceeded",
        "VcpuLimitExceeded",
        "UnfulfillableCapacity",
        "Unsupported",
        "InsufficientFreeAddressesInSubnet",
        "MaxFleetCountExceeded",
        "ReservationCapacityExceeded",
    }
)
"""Codes that say: not this type, in this zone, this way, for now."""

SPOT_FORBIDDEN: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
"""No spot at all in this account until a person makes the service-linked role."""
TOKEN_REUSED: Final = "IdempotentParameterMismatch"  # noqa: S105  # a code, not a secret

BY_CODE: Final[dict[str, type[errors.CloudError]]] = {
    **dict.fromkeys(SOLD_OUT, errors.InsufficientCapacity),
    SPOT_FORBIDDEN: errors.InsufficientCapacity,
    "InvalidInstanceID.NotFound": errors.InstanceUnknown,
    "InvalidInstanceID.Malformed": errors.InstanceNotFound,
    "RequestLimitExceeded": errors.Throttled,
    "Throttling": errors.Throttled,
    "ThrottlingException": errors.Throttled,
    "TooManyRequestsException": errors.Throttled,
    "UnauthorizedOperation": errors.Denied,
    "AccessDenied": errors.Denied,
    "AccessDeniedException": errors.Denied,
    "AuthFailure": errors.Denied,
    "ExpiredToken": errors.Denied,
    "ExpiredTokenException": errors.Denied,
    "InvalidIdentityToken": errors.Denied,
    "InvalidClientTokenId": errors.Denied,
    "InternalError": errors.Unreachable,
    "InternalFailure": errors.Unreachable,
    "ServiceUnavailable": errors.Unreachable,
    "Unavailable": errors.Unreachable,
    "ServiceException": errors.Unreachable,
}
"""Code -> what is done next; any other is LaunchRefused."""

NOT_FOUND: Final = frozenset(
    {
        "InvalidLaunchTemplateName.NotFoundException",
        "InvalidLaunchTemplateId.NotFound",
        "InvalidLaunchTemplateId.NotFoundException",
        "ParameterNotFound",
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
        "NoSuchEntity",
        "ResourceNotFoundException",
        "InvalidAMIID.NotFound",
        "InvalidSubnetID.NotFound",
        "InvalidGroup.NotFound",
        "InvalidKeyPair.NotFound",
    }
)
"""Codes that say: there is no such thing."""


class ResourceNotFound(errors.LaunchRefused):
    """Something that a request names does not exist (any more)."""


def translate(asked: str, error: Exception) -> errors.CloudError:
    """The error for what boto3 raised; `asked` is the call in a few words."""
    if isinstance(error, exceptions.ClientError):
        answer: dict[str, Any] = cast("Any", error.response)
        code = str(answer.get("Error", {}).get("Code", ""))
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return of_code(
            code, f"{asked}: {code}: {answer.get('Error', {}).get('Message', '')}", status
        )
    if isinstance(error, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        return errors.Denied(
            f"{asked}: {error}. Give the ServiceAccount an IAM role (eks.amazonaws.com/role-arn), "
            "or set AWS_PROFILE or AWS_ACCESS_KEY_ID"
        )
    if isinstance(error, exceptions.ParamValidationError):
        return errors.LaunchRefused(f"{asked}: {error}", code="ParamValidation")
    return errors.Unreachable(f"{asked}: {error}")


def of_code(code: str, message: str, status: int = 0) -> errors.CloudError:
    """The error for an AWS error code."""
    if code in NOT_FOUND:
        return ResourceNotFound(message, code=code)
    kind = BY_CODE.get(code)
    if kind is None:
        kind = errors.Unreachable if status >= 500 else errors.LaunchRefused
    return kind(message, code=code)
