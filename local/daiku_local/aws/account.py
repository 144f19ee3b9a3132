"""An AWS account at its beginning: the models of moto, AWS's images, fair weather."""

from daiku_local.aws import clock, moto_door
from daiku_local.aws.cloud import Cloud
from daiku_local.aws.ec2 import images
from daiku_local.aws.weather import Weather
from daiku_local.world import World

SPOT = "spot.amazonaws.com"
"""The service that acts for who buys spot."""


def make(world: World, now: clock.Now = clock.now) -> Cloud:
    """The account of a laptop world, with nothing made in it yet but what one has that has bought spot before.

    Raises:
        UnknownMotoError: The installed moto is not the one this layer was written for.
    """
    moto_door.prepare(world.account)
    ec2 = moto_door.ec2(world.account, world.region)
    images.register(ec2, images.catalogue())
    iam = moto_door.iam(world.account)
    # It sells spot; an account without the role is refused it.
    iam.create_service_linked_role(SPOT, "", "")
    return Cloud(
        world=world,
        now=now,
        timeline=clock.Timeline(now),
        weather=Weather(now),
        ec2=ec2,
        iam=iam,
        sts=moto_door.sts(world.account),
    )
