"""The few questions that booting asks AWS, with plain answers.

An AWS that answers with an error, throttles or is not there at all is one error, `AwsError`:
every caller asks again a second later, as a booting machine would.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import boto3
import botocore.config
import botocore.exceptions

from daiku_local import weather_client
from daiku_local.agent import instance_types
from daiku_local.agent.instance_types import InstanceType
from daiku_local.agent.node import Instance
from daiku_local.agent.objects import Json, dig, items
from daiku_local.weather_client import WeatherError
from daiku_local.world import World

STATES = ("pending", "running", "shutting-down", "stopping", "stopped")
"""Every state but terminated: only instances in these have a machine."""
PAGE_SIZE = 1000
"""The most that DescribeInstances gives at once."""

_Answer = TypeVar("_Answer")


class AwsError(Exception):
    """AWS did not answer, or refused."""

    code: str
    """AWS' error code, such as ResourceNotFoundException; Unreachable when there was no answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AwsApi:
    """The laptop's AWS, asked by what EKS and the machines' firmware would ask."""

    def __init__(self, world: World) -> None:
        keys = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "local")
        session: Any = boto3.Session(region_name=world.region, **keys)
        config: Any = botocore.config.Config(
            connect_timeout=5,
            read_timeout=30,
            retries={"max_attempts": 2, "mode": "standard"},
            proxies={},  # AWS is on this machine
        )
        self._ec2, self._eks, self._iam = (
            session.client(service, endpoint_url=world.aws_endpoint, config=config)
            for service in ("ec2", "eks", "iam")
        )
        self._endpoint = world.aws_endpoint
        self._types: dict[str, InstanceType] = {}
        self._zone_ids: dict[str, str] = {}

    def fetch_boot_seconds(self) -> float:
        """How long machines boot, by the weather."""
        try:
            return float(weather_client.get(self._endpoint)["boot_seconds"])
        except WeatherError as error:
            raise AwsError("Unreachable", str(error)) from error

    def list_instances(self) -> list[Instance]:
        """Every instance that is not terminated."""

        def ask() -> list[Instance]:
            pages = self._ec2.get_paginator("describe_instances").paginate(
                Filters=[{"Name": "instance-state-name", "Values": list(STATES)}],
                PaginationConfig={"PageSize": PAGE_SIZE},
            )
            return [
                _instance(instance)
                for page in pages
                for reservation in page["Reservations"]
                for instance in reservation["Instances"]
            ]

        return _asked("ec2:DescribeInstances", ask)

    def fetch_user_data(self, instance_id: str) -> str | None:
        """User data of an instance in base64, None when it has none."""
        answer = _asked(
            "ec2:DescribeInstanceAttribute",
            lambda: self._ec2.describe_instance_attribute(
                InstanceId=instance_id, Attribute="userData"
            ),
        )
        return dig(answer, "UserData", "Value") or None

    def fetch_instance_type(self, name: str) -> InstanceType:
        """What EC2 says of an instance type; asked once."""
        if name not in self._types:
            answer = _asked(
                "ec2:DescribeInstanceTypes",
                lambda: self._ec2.describe_instance_types(InstanceTypes=[name]),
            )
            found = items(answer, "InstanceTypes")
            if not found:
                raise AwsError("InvalidInstanceType", f"EC2 has no instance type {name}")
            self._types[name] = instance_types.decode(found[0])
        return self._types[name]

    def fetch_zone_id(self, zone: str) -> str | None:
        """Id of a zone, None when EC2 does not know the zone; asked once."""
        if not self._zone_ids:
            answer = _asked("ec2:DescribeAvailabilityZones", self._ec2.describe_availability_zones)
            self._zone_ids = {
                zone["ZoneName"]: zone["ZoneId"] for zone in items(answer, "AvailabilityZones")
            }
        return self._zone_ids.get(zone)

    def fetch_volume_sizes(self, volume_ids: Iterable[str]) -> dict[str, int]:
        """Bytes of each volume that exists."""
        wanted = sorted(set(volume_ids))
        if not wanted:
            return {}
        answer = _asked(
            "ec2:DescribeVolumes",
            lambda: self._ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": wanted}]),
        )
        return {volume["VolumeId"]: volume["Size"] * 2**30 for volume in items(answer, "Volumes")}

    def fetch_role_arn(self, profile_arn: str) -> str | None:
        """ARN of the role in an instance profile, None when there is no such profile or role."""
        name = profile_arn.rpartition("/")[2]
        try:
            answer = _asked(
                "iam:GetInstanceProfile",
                lambda: self._iam.get_instance_profile(InstanceProfileName=name),
            )
        except AwsError as error:
            if error.code == "NoSuchEntity":
                return None
            raise
        return dig(answer, "InstanceProfile", "Roles", 0, "Arn")

    def fetch_access_entry_type(self, cluster: str, role_arn: str) -> str | None:
        """Type of the role's access entry in the cluster, None when it or the cluster does not exist."""
        try:
            answer = _asked(
                "eks:DescribeAccessEntry",
                lambda: self._eks.describe_access_entry(clusterName=cluster, principalArn=role_arn),
            )
        except AwsError as error:
            if error.code == "ResourceNotFoundException":
                return None
            raise
        return dig(answer, "accessEntry", "type")


def _asked(action: str, call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except botocore.exceptions.ClientError as error:
        code = str(dig(error.response, "Error", "Code"))
        raise AwsError(
            code, f"{action}: {code}: {dig(error.response, 'Error', 'Message')}"
        ) from error
    except botocore.exceptions.BotoCoreError as error:
        raise AwsError("Unreachable", f"{action}: {error}") from error


def _instance(description: Json) -> Instance:
    root = dig(description, "RootDeviceName")
    volumes = {
        dig(mapping, "DeviceName"): dig(mapping, "Ebs", "VolumeId")
        for mapping in items(description, "BlockDeviceMappings")
    }
    return Instance(
        instance_id=description["InstanceId"],
        state=dig(description, "State", "Name"),
        type_name=description["InstanceType"],
        zone=dig(description, "Placement", "AvailabilityZone"),
        private_dns_name=dig(description, "PrivateDnsName") or "",
        private_ip=dig(description, "PrivateIpAddress") or "",
        public_ip=dig(description, "PublicIpAddress"),
        profile_arn=dig(description, "IamInstanceProfile", "Arn"),
        root_volume_id=volumes.get(root),
    )
