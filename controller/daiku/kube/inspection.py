"""Reading a Deployment and whoever scales it, at the moment when that matters: nobody watches all of them for it."""

from datetime import datetime

from daiku import commands, events
from daiku.api import decode, decode_deployment, kinds
from daiku.kube import errors
from daiku.kube.client import Client


def inspect(client: Client, command: commands.InspectDeployment, now: datetime) -> events.Inspected:
    """What a Deployment is like.

    Raises:
        KubeError: It cannot be read, or its autoscalers cannot.
    """
    key = f"{command.namespace}/{command.name}"
    path = kinds.DEPLOYMENTS.object_path(command.name, command.namespace)
    try:
        found = decode.guarded(decode_deployment.deployment, client.get(path))
    except errors.NotFound:
        return events.Inspected(key=key, deployment=None, at=now)
    scalers = [
        decode.guarded(decode_deployment.scaled_deployment, bytes(raw))
        for page in client.list(kinds.AUTOSCALERS_PATH.format(command.namespace))
        for raw in page.items
    ]
    ours = min((scaler for scaler, target in scalers if target == command.name), default="")
    return events.Inspected(key=key, deployment=found, autoscaler=ours, at=now)
