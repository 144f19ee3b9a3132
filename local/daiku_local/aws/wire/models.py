# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""botocore's descriptions of the services, loaded once each.

A description says for every operation which members it takes and how they are named on the wire.
"""

import functools
from typing import Any

import botocore.exceptions
import botocore.loaders
import botocore.model

type_of_service = {
    "elasticloadbalancing": "elbv2",
    "monitoring": "cloudwatch",
}
"""Descriptions whose name differs from the name that requests are signed for."""


@functools.cache
def _loader() -> Any:
    return botocore.loaders.Loader()


@functools.cache
def service(signing_name: str) -> Any:
    """Botocore's ServiceModel of a service, None if botocore has none of that name."""
    name = type_of_service.get(signing_name, signing_name)
    try:
        description = _loader().load_service_model(name, "service-2")
    except botocore.exceptions.UnknownServiceError:
        return None
    return botocore.model.ServiceModel(description, name)


@functools.cache
def operation(signing_name: str, name: str) -> Any:
    """Botocore's OperationModel, None if the service or the operation is unknown."""
    model = service(signing_name)
    if model is None or name not in model.operation_names:
        return None
    return model.operation_model(name)


def protocol(signing_name: str) -> str:
    """One of "ec2", "query", "json", "rest-json", "rest-xml"; "json" for an unknown service."""
    model = service(signing_name)
    return "json" if model is None else str(model.metadata["protocol"])
