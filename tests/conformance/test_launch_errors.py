"""What each error code of a launch means: what is done next, of which pools it is true, what a person reads.

Source: Karpenter v1.14.1, pkg/errors/errors.go (sets of codes) and the reasons of its CreateError; where a quota is
concerned, more pools are left out than there (docs/compatibility-aws.md).
"""

from pathlib import Path

import pytest

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import errors
from daiku.cloud.aws.errors import Scope

FULL, DENIED = cloud_errors.InsufficientCapacity, cloud_errors.Denied
REFUSED, SLOW, SILENT = (
    cloud_errors.LaunchRefused,
    cloud_errors.Throttled,
    cloud_errors.Unreachable,
)
GONE = errors.ResourceNotFound
SLR = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"

ROWS = [
    # unfulfillableCapacityErrorCodes
    ("InsufficientInstanceCapacity", "", FULL, Scope.POOL, "InsufficientCapacity"),
    ("UnfulfillableCapacity", "", FULL, Scope.POOL, "InsufficientCapacity"),
    ("Unsupported", "", FULL, Scope.POOL, "InsufficientCapacity"),
    ("ReservationCapacityExceeded", "", FULL, Scope.POOL, "InsufficientCapacity"),
    ("MaxFleetCountExceeded", "", FULL, Scope.POOL, "FleetQuotaExceeded"),
    ("MaxSpotInstanceCountExceeded", "", FULL, Scope.QUOTA, "SpotQuotaExceeded"),
    ("VcpuLimitExceeded", "", FULL, Scope.QUOTA, "VCPULimitExceeded"),
    (
        "InsufficientFreeAddressesInSubnet",
        "",
        FULL,
        Scope.SUBNET,
        "InsufficientFreeAddressesInSubnet",
    ),
    # IsServiceLinkedRoleCreationNotPermitted
    (SLR, "The provided credentials ...", FULL, Scope.CAPACITY_TYPE, "SpotSLRCreationFailed"),
    # launchTemplateNameNotFoundCode, notFoundErrorCodes
    (
        "InvalidLaunchTemplateName.NotFoundException",
        "",
        GONE,
        Scope.NONE,
        "LaunchTemplateNotFound",
    ),
    ("InvalidLaunchTemplateId.NotFound", "", GONE, Scope.NONE, "LaunchTemplateNotFound"),
    ("InvalidAMIID.NotFound", "", GONE, Scope.NONE, "AMINotFound"),
    ("NoSuchEntity", "", GONE, Scope.NONE, "LaunchFailed"),
    ("ParameterNotFound", "", GONE, Scope.NONE, "LaunchFailed"),
    ("QueueDoesNotExist", "", GONE, Scope.NONE, "LaunchFailed"),
    # IsUnauthorizedOperationError, and the reasons of ToReasonMessage
    ("UnauthorizedOperation", "You are not authorized", DENIED, Scope.NONE, "Unauthorized"),
    ("AccessDenied", "", DENIED, Scope.NONE, "Unauthorized"),
    ("AuthFailure", "", DENIED, Scope.NONE, "Unauthorized"),
    (
        "UnauthorizedOperation",
        "Not authorized for images: [ami-1]",
        DENIED,
        Scope.NONE,
        "AMIAuthorizationFailure",
    ),
    ("PendingVerification", "", DENIED, Scope.NONE, "AccountPendingVerification"),
    # IsRateLimitedError, and the codes of other services
    ("RequestLimitExceeded", "", SLOW, Scope.NONE, "RequestLimitExceeded"),
    ("ThrottlingException", "", SLOW, Scope.NONE, "RequestLimitExceeded"),
    # IsServerError
    ("InternalError", "", SILENT, Scope.NONE, "InternalError"),
    # by message
    (
        "InvalidParameter",
        "Security group sg-1 and subnet subnet-1 belong to different networks.",
        REFUSED,
        Scope.NONE,
        "SecurityGroupSubnetVPCMismatch",
    ),
    (
        "InvalidParameterValue",
        "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
        REFUSED,
        Scope.NONE,
        "InstanceProfileNameInvalid",
    ),
    (
        "InvalidUserData.Malformed",
        "User data is limited to 16384 bytes",
        REFUSED,
        Scope.NONE,
        "UserDataSizeLimitExceeded",
    ),
    ("InvalidAMIID.Malformed", "", REFUSED, Scope.NONE, "InvalidAMIID"),
    (
        "InvalidParameterCombination",
        "The specified instance type is not eligible for Free Tier.",
        REFUSED,
        Scope.NONE,
        "FreeTierIneligible",
    ),
    # anything else
    ("SomethingNew", "", REFUSED, Scope.NONE, "LaunchFailed"),
]


@pytest.mark.parametrize(("code", "message", "kind", "scope", "reason"), ROWS)
def test_a_code_means(
    code: str,
    message: str,
    kind: type[cloud_errors.CloudError],
    scope: Scope,
    reason: str,
) -> None:
    row = errors.meaning(code, message)
    error = errors.of_code(code, f"ec2 create_fleet: {code}: {message}")

    assert (row.kind, row.scope, row.reason) == (kind, scope, reason)
    assert type(error) is kind
    assert (error.code, error.reason) == (code, reason)


def test_a_code_that_is_not_known_with_a_status_of_5xx_is_no_answer() -> None:
    assert errors.meaning("Mystery", status=500).kind is SILENT


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("with an explicit deny in a permissions boundary", "permissions boundary"),
        ("with an explicit deny in a service control policy", "service control policy"),
        (
            "because no identity-based policy allows the ec2:CreateFleet action",
            "attach the controller's policies",
        ),
        ("", "the controller's IAM role"),
    ],
)
def test_a_denial_says_what_to_mend_and_nothing_encoded(said: str, remedy: str) -> None:
    message = f"You are not authorized {said}. Encoded authorization failure message: 4GIOHlTkIa"

    error = errors.of_code("UnauthorizedOperation", message)

    assert remedy in str(error)
    assert "4GIOHlTkIa" not in str(error)


def test_what_a_person_can_mend_says_how() -> None:
    for code in (SLR, "VcpuLimitExceeded", "InsufficientFreeAddressesInSubnet", "AccessDenied"):
        assert errors.meaning(code).remedy


def test_every_row_that_is_told_by_its_message_differs_from_the_plain_one() -> None:
    for code, part, row in errors.SAID:
        assert errors.meaning(code, f"... {part} ...") is row
        assert errors.meaning(code, "other words") is not row


INJECTED = Path(__file__).resolve().parents[1] / "world" / "test_aws_launch_errors.py"
NOT_OF_LAUNCHES = {
    "InvalidInstanceID.NotFound": "the end of a machine",
    "InvalidInstanceID.Malformed": "the end of a machine",
    "InvalidGroup.NotFound": "lookups: the condition says what is not found",
    "EntityAlreadyExists": "the same as any code that nobody knows, which is injected",
}
"""First code of a row that no launch is answered with -> what is."""


def test_every_row_is_injected_once_into_a_launch_and_looked_at_from_outside() -> None:
    said = INJECTED.read_text()
    rows: dict[errors.Meaning, list[str]] = {}
    for code, row in errors.TABLE.items():
        rows.setdefault(row, []).append(code)
    for code, _, row in errors.SAID:
        rows.setdefault(row, []).append(code)

    missing = [codes for codes in rows.values() if not any(f'"{code}"' in said for code in codes)]

    assert [c for c in missing if c[0] not in NOT_OF_LAUNCHES] == []
