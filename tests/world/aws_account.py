"""What tests of the stand-in AWS share: the layer as a process, clients of it, and a network to launch in."""

import base64
import json
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import boto3
import botocore.config
import botocore.exceptions
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from daiku_local import world as worlds

T = TypeVar("T")
ISSUER = "https://oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
FAST = {"pending_seconds": 0.3, "stopping_seconds": 0.3, "control_plane_seconds": 0.3}
IMAGE = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"


@dataclass(kw_only=True)
class Account:
    """A running layer."""

    world: worlds.World
    signer: rsa.RSAPrivateKey
    process_id: int
    clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str, **credentials: str) -> Any:
        """A client of a service; making one costs 50 ms, so those of the laptop's own user are kept."""
        if credentials:
            return self._new_client(service, **credentials)
        if service not in self.clients:
            self.clients[service] = self._new_client(service)
        return self.clients[service]

    def _new_client(self, service: str, **credentials: str) -> Any:
        keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", **credentials}
        config = botocore.config.Config(retries={"total_max_attempts": 1, "mode": "standard"})
        return boto3.Session(region_name=self.world.region, **keys).client(
            service, endpoint_url=self.world.aws_endpoint, config=config
        )

    def weather(self, **forecast: Any) -> None:
        self.ask("PUT", "/_weather", {**FAST, **forecast})

    def ask(self, method: str, path: str, content: Any = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(  # noqa: S310 - the layer's own address
            self.world.aws_endpoint + path, data=body, method=method
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
            return json.load(answer)


@contextmanager
def running(folder: Path) -> Generator[Account]:
    """The layer of a world whose control plane is made of fake files."""
    signer = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "pki").mkdir(parents=True)
    (folder / "pki" / "ca.crt").write_text("not a certificate\n")
    (folder / "pki" / "service-account.pub").write_bytes(
        signer.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    world = worlds.World(
        folder=str(folder),
        kubernetes_endpoint="https://127.0.0.1:6443",
        kubernetes_version="1.34",
        service_account_issuer=ISSUER,
        aws_endpoint=f"http://127.0.0.1:{port}",
    )
    worlds.save(world)
    with (folder / "aws.log").open("wb") as log:
        command = [sys.executable, "-m", "daiku_local.aws", "--world", str(folder)]
        process = subprocess.Popen(
            [*command, "--port", str(port)], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        account = Account(world=world, signer=signer, process_id=process.pid)
        eventually(lambda: account.ask("GET", "/_health"), "the layer to be ready", seconds=30)
        account.weather()
        yield account
    finally:
        process.terminate()
        process.wait(timeout=10)


def start_and_wait(folder: Path, *, port: int) -> subprocess.CompletedProcess[str]:
    """The layer where it is expected to end by itself."""
    command = [sys.executable, "-m", "daiku_local.aws", "--world", str(folder)]
    return subprocess.run(
        [*command, "--port", str(port)], capture_output=True, text=True, timeout=30, check=False
    )


def refused(call: Any, *arguments: Any, **parameters: Any) -> tuple[str, str]:
    """Code and message of the error that a call ends with."""
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call(*arguments, **parameters)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def eventually(ask: Callable[[], T], what: str, seconds: float = 10) -> T:
    """The first true answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if answer := ask():
                return answer
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s for {what}")


@dataclass(kw_only=True)
class Network:
    """A VPC with one subnet a zone, a group, a role, a profile, and a launch template that names them."""

    vpc: str
    subnets: list[str]
    group: str
    role: str
    profile: str
    template: str
    image: str


def network(account: Account, **content: Any) -> Network:
    """Make a network of its own for a test; `content` goes into the launch template."""
    ec2, iam = account.client("ec2"), account.client("iam")
    unique = uuid.uuid4().hex[:8]
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(
            VpcId=vpc, CidrBlock=f"10.0.{number * 32}.0/20", AvailabilityZone=f"us-west-2{letter}"
        )["Subnet"]["SubnetId"]
        for number, letter in enumerate("abc")
    ]
    group = ec2.create_security_group(GroupName=unique, Description="nodes", VpcId=vpc)["GroupId"]
    arn = role(account, f"node-{unique}", "ec2.amazonaws.com")
    profile = f"profile-{unique}"
    iam.create_instance_profile(InstanceProfileName=profile)
    iam.add_role_to_instance_profile(InstanceProfileName=profile, RoleName=f"node-{unique}")
    image = account.client("ssm").get_parameter(Name=IMAGE)["Parameter"]["Value"]
    data = {
        "ImageId": image,
        "UserData": base64.b64encode(b"#!/bin/sh").decode(),
        "IamInstanceProfile": {"Name": profile},
        "NetworkInterfaces": [{"DeviceIndex": 0, "Groups": [group]}],
        **content,
    }
    template = f"template-{unique}"
    ec2.create_launch_template(LaunchTemplateName=template, LaunchTemplateData=data)
    return Network(
        vpc=vpc,
        subnets=subnets,
        group=group,
        role=arn,
        profile=profile,
        template=template,
        image=image,
    )


def role(account: Account, name: str, service: str) -> str:
    """A role that a service may assume; gives its ARN."""
    principal = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [principal]})
    made = account.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=policy)
    return made["Role"]["Arn"]


def fleet(
    account: Account,
    place: Network,
    types: list[str],
    *,
    count: int = 1,
    capacity: str = "on-demand",
    strategy: str | None = None,
    priorities: list[float] | None = None,
    **extra: Any,
) -> Any:
    """CreateFleet over every type and subnet; `priorities` are those of the types."""
    overrides = [
        {"InstanceType": name, "SubnetId": subnet}
        | ({"Priority": priorities[number]} if priorities else {})
        for number, name in enumerate(types)
        for subnet in place.subnets
    ]
    options = {"AllocationStrategy": strategy} if strategy else {}
    named = "SpotOptions" if capacity == "spot" else "OnDemandOptions"
    specification = {"LaunchTemplateName": place.template, "Version": "$Latest"}
    return account.client("ec2").create_fleet(
        Type="instant",
        TargetCapacitySpecification={
            "TotalTargetCapacity": count,
            "DefaultTargetCapacityType": capacity,
        },
        LaunchTemplateConfigs=[
            {"LaunchTemplateSpecification": specification, "Overrides": overrides}
        ],
        **{named: options, **extra},
    )


def launched(answer: Any) -> list[str]:
    """Ids of the instances that a fleet launched."""
    return [one for group in answer["Instances"] for one in group["InstanceIds"]]


def instance(account: Account, instance_id: str) -> Any:
    """One instance as DescribeInstances shows it."""
    answer = account.client("ec2").describe_instances(InstanceIds=[instance_id])
    return answer["Reservations"][0]["Instances"][0]
