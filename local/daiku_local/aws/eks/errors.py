"""The errors of EKS, by what they tell the caller."""

from typing import Any

from daiku_local.aws.errors import AwsError


def not_found(message: str, **fields: Any) -> AwsError:
    """What is asked for does not exist."""
    return AwsError("ResourceNotFoundException", message, status=404, fields=fields)


def in_use(message: str, **fields: Any) -> AwsError:
    """It exists already, or something still needs it, or a change is under way."""
    return AwsError("ResourceInUseException", message, status=409, fields=fields)


def bad_parameter(message: str, **fields: Any) -> AwsError:
    """A parameter has a value that cannot be."""
    return AwsError("InvalidParameterException", message, fields=fields)


def bad_request(message: str, **fields: Any) -> AwsError:
    """The request does not fit the state of the resource."""
    return AwsError("InvalidRequestException", message, fields=fields)
