"""An AWS account at its beginning: the models of moto, AWS's images, fair weather."""

from daiku_local.aws import clock, moto_door
from daiku_local.aws.cloud import Cloud
from daiku_local.aws.ec2 import images
from daiku_local.aws.weather import Weather
from daiku_local.world import World


def make(world: World, now: clock.Now = clock.now) -> Cloud:
    """The account of a laptop world, with nothing made in it yet.

    Raises:
        UnknownMotoError: The installed moto is not the one this layer was written for.
    """
    moto_door.prepare(world.account)
    ec2 = moto_door.ec2(world.account, world.region)
    images.register(ec2, images.catalogue())
    return Cloud(
        world=world,
        now=now,
        timeline=clock.Timeline(now),
        weather=Weather(now),
        ec2=ec2,
        iam=moto_door.iam(world.account),
        sts=moto_door.sts(world.account),
    )
