"""SSM: the public parameters that name Amazon's images for EKS. Every other parameter is moto's."""

import functools
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import images
from daiku_local.aws.errors import AwsError, NotOurs

PREFIXES = ("/aws/service/eks/", "/aws/service/bottlerocket/", f"{images.WINDOWS_FOLDER}/")


@functools.cache
def _parameters() -> dict[str, images.Image]:
    """The image that each public parameter names."""
    return {f"{name}/image_id": image for image in images.catalogue() for name in image.parameters}


def get_parameter(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """GetParameter of a public parameter."""
    name = str(asked["Name"])
    if not name.startswith(PREFIXES):
        raise NotOurs
    image = _parameters().get(name)
    if image is None:
        raise AwsError("ParameterNotFound", f"Parameter {name} not found.")
    return {
        "Parameter": {
            "Name": name,
            "Type": "String",
            "Value": image.image_id,
            "Version": 1,
            "LastModifiedDate": image.created.timestamp(),
            "ARN": f"arn:aws:ssm:{cloud.world.region}::parameter{name}",
            "DataType": "aws:ec2:image",
        }
    }


def get_parameters(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """GetParameters, where all of them are public."""
    if not all(name.startswith(PREFIXES) for name in asked["Names"]):
        raise NotOurs
    found: list[Any] = []
    missing: list[str] = []
    for name in asked["Names"]:
        if name in _parameters():
            found.append(get_parameter(cloud, Asked({"Name": name}))["Parameter"])
        else:
            missing.append(name)
    return {"Parameters": found, "InvalidParameters": missing}


HANDLERS = {"GetParameter": get_parameter, "GetParameters": get_parameters}
