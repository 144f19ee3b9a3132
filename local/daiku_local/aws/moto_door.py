# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingModuleSource=false
"""The only door to moto: its HTTP application and its models of the services.

Everything the other modules know of moto's inside was read in the version below; another version
is refused at once instead of misbehaving later. Models are untyped and not thread-safe: whoever uses
one holds the cloud's lock.
"""

import importlib
import os
from typing import Any

import moto
from moto.backends import get_backend
from moto.core.exceptions import ServiceException
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

__all__ = ["ServiceException"]

VERSION = "5.2.5"
PARTITION = "aws"


class UnknownMotoError(Exception):
    """moto has another version than the one this layer was written for."""


def prepare(account: str) -> None:
    """Set moto up: its account, AWS's managed policies, and none of its 1,299 images of 2017.

    Raises:
        UnknownMotoError: The installed moto is another one.
    """
    if moto.__version__ != VERSION:
        raise UnknownMotoError(
            f"moto {moto.__version__} is installed, the stand-in AWS is written for {VERSION}: "
            "run `make setup`"
        )
    os.environ["MOTO_ACCOUNT_ID"] = account
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
    os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
    # moto would call the role of spot AWSServiceRoleForspot.
    names: Any = importlib.import_module("moto.iam.models")
    names.SERVICE_NAME_CONVERSION["spot"] = "EC2Spot"


class _Application(DomainDispatcherApplication):
    """moto's application, which says so when a service is unknown to it."""

    def get_backend_for_host(self, host: str | None) -> Any:
        """Moto's name of the service that a host stands for."""
        backend = super().get_backend_for_host(host)
        if backend is None and host is not None:
            raise NotImplementedError(f"moto has no service at {host}")
        return backend


def application() -> Any:
    """Moto as a WSGI application, every service; NotImplementedError passes through it."""
    return _Application(create_backend_app)


def ec2(account: str, region: str) -> Any:
    """Moto's model of EC2 and VPC in a region."""
    return get_backend("ec2")[account][region]


def iam(account: str) -> Any:
    """Moto's model of IAM."""
    return get_backend("iam")[account][PARTITION]


def sts(account: str) -> Any:
    """Moto's model of STS."""
    return get_backend("sts")[account][PARTITION]


def events(account: str, region: str) -> Any:
    """Moto's model of EventBridge in a region."""
    return get_backend("events")[account][region]


def sqs(account: str, region: str) -> Any:
    """Moto's model of SQS in a region."""
    return get_backend("sqs")[account][region]
