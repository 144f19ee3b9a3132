"""Instance types as EC2 describes them, by the answers that moto ships, through the controller's own reading."""

from functools import cache
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from daiku.cloud.aws import instance_types
from daiku.cloud.aws.instance_types import Facts


@cache
def of(name: str) -> Facts:
    """What the controller makes of one type."""
    return described(name)


def described(name: str, **changed: Any) -> Facts:
    """The same, with some fields of EC2's answer `changed`."""

    class Ec2:
        region = "us-west-2"

        def pages(self, _service: str, operation: str, **_: Any) -> list[dict[str, Any]]:
            if operation == "describe_instance_types":
                return [{"InstanceTypes": [INSTANCE_TYPES[name] | changed]}]
            return [{"InstanceTypeOfferings": [{"InstanceType": name, "Location": "us-west-2a"}]}]

    ec2: Any = Ec2()
    return instance_types.fetch(ec2)[name]
