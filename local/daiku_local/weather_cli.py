"""`daiku local weather`: what the stand-in AWS does to its customers, set by hand.

Each command reads the forecast in force, changes one thing and puts it back; counts (instances that a pool has left,
calls that are refused) begin anew with it.
"""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated, Any

import boto3.session
import botocore.exceptions
import typer

from daiku_local import paths, saying, weather_client, world
from daiku_local.weather_client import Json, WeatherError

app = typer.Typer(
    name="weather",
    rich_markup_mode=None,
    no_args_is_help=True,
    help="""Have the stand-in AWS behave as AWS does on a bad day, and see what the controller makes of it.

    \b
    A walk, each after `daiku local weather`:
      show                           what is in force
      sold-out --zone us-west-2a     nothing left in one zone
      set contested_pools=1          the cheapest says no
      refuse CreateFleet UnauthorizedOperation --times 3
      set boot_seconds=40 latency_ms=200
      set request_buckets=true       EC2's limits of requests
      spot-price --factor 4 --type m5.large
      interrupt i-0123456789abcdef0  gone in two minutes
      message 'not JSON'             into the queue
      fair                           as if nothing had been

    Every answer is the forecast that is now in force, as JSON.""",
)
ANY = "*"
_SET_HELP = """Change settings by name, such as boot_seconds, pending_seconds, unseen_seconds, latency_ms.

\b
Requests a second by operation, and how long to wait:
  set 'throttle={"DescribeInstances": 1}'
  set throttle_retry_after_seconds=5"""


@app.command()
def show() -> None:
    """Show the forecast in force: every setting with its value."""
    with _mended():
        _say(weather_client.get(_endpoint()))


@app.command()
def fair() -> None:
    """Make the weather fair: nothing is sold out, refused, slow or dear."""
    with _mended():
        _say(weather_client.put(_endpoint(), {}))


@app.command("set", help=_SET_HELP)
def set_values(
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE...",
            help="Such as boot_seconds=30; `show` lists the names. A value is JSON.",
        ),
    ],
) -> None:
    """Change settings by name."""
    with _mended():
        wanted = [_pair(each) for each in settings]
        names = [name for name, _ in wanted]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise WeatherError(f"set twice: {', '.join(twice)}; give each once")
        _change(lambda forecast: forecast.update(wanted))


@app.command("sold-out")
def sold_out(
    *,
    kinds: Annotated[
        list[str] | None, typer.Option("--type", help="Instance type; left out: every one.")
    ] = None,
    zones: Annotated[list[str] | None, typer.Option("--zone", help="Zone, likewise.")] = None,
    capacity_types: Annotated[
        list[str] | None, typer.Option("--capacity-type", help="spot or on-demand, likewise.")
    ] = None,
    left: Annotated[
        int, typer.Option(help="Instances that each combination of these still has.", min=0)
    ] = 0,
    code: Annotated[str, typer.Option(help="Error code of the answer.")] = (
        "InsufficientInstanceCapacity"
    ),
) -> None:
    """Have pools say that they have no instance, or none after `--left` more.

    Options may be given several times. What is said last of a pool holds.
    """
    pools = [
        {
            "instance_type": kind,
            "zone": zone,
            "capacity_type": capacity_type,
            "left": left,
            "code": code,
        }
        for kind in kinds or [ANY]
        for zone in zones or [ANY]
        for capacity_type in capacity_types or [ANY]
    ]
    with _mended():
        # The first one that covers a pool counts.
        _change(lambda forecast: forecast.update(sold_out=[*pools, *forecast["sold_out"]]))


@app.command()
def refuse(
    operation: Annotated[str, typer.Argument(help="Such as CreateFleet or ReceiveMessage.")],
    code: Annotated[str, typer.Argument(help="AWS's error code, such as UnauthorizedOperation.")],
    times: Annotated[int | None, typer.Option(help="How many calls; left out: all.", min=1)] = None,
    retry_after: Annotated[
        float | None, typer.Option(help="Seconds that the answer asks to wait.", min=0)
    ] = None,
    message: Annotated[str, typer.Option(help="What the answer says.")] = "refused by the weather",
) -> None:
    """Have an operation refused before it is looked at."""
    refusal = {
        "operation": operation,
        "code": code,
        "times": times,
        "retry_after_seconds": retry_after,
        "message": message,
    }
    with _mended():
        _change(lambda forecast: forecast["refusals"].append(refusal))


@app.command("spot-price")
def spot_price(
    *,
    factor: Annotated[float, typer.Option(help="By which the price is multiplied.", min=0.01)],
    kinds: Annotated[
        list[str] | None, typer.Option("--type", help="Instance type; left out: every one.")
    ] = None,
    zones: Annotated[list[str] | None, typer.Option("--zone", help="Zone, likewise.")] = None,
) -> None:
    """Move spot prices; the controller sees it at its next refresh, five minutes at most.

    Types and zones may be given several times. What is said last of a pool holds.
    """
    moves = [
        {"factor": factor, "instance_type": kind, "zone": zone}
        for kind in kinds or [ANY]
        for zone in zones or [ANY]
    ]
    with _mended():
        _change(lambda forecast: forecast.update(spot_moves=[*moves, *forecast["spot_moves"]]))


@app.command()
def interrupt(
    instance_id: Annotated[str, typer.Argument(help="Such as i-0123456789abcdef0.")],
    kind: Annotated[
        str,
        typer.Option(
            help="spot-interruption, rebalance, reservation-interruption, scheduled-change, terminated, "
            "instance-status, system-status or event-status."
        ),
    ] = "spot-interruption",
    notice: Annotated[
        float | None, typer.Option(help="Seconds until it is gone; left out: 120.", min=0)
    ] = None,
) -> None:
    """Interrupt an instance, with the message that AWS would send."""
    wanted: Json = {"instance_id": instance_id, "kind": kind}
    if notice is not None:
        wanted["notice_seconds"] = notice
    with _mended():
        _say(weather_client.interrupt(_endpoint(), wanted))


@app.command()
def message(
    body: Annotated[str, typer.Argument(help="What the message says; anything.")],
    queue: Annotated[str, typer.Option(help="Name of the queue; left out: the only one.")] = "",
) -> None:
    """Put a message into the interruption queue."""
    with _mended():
        found = world.load(paths.world_folder())
        keys = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "local")
        session: Any = boto3.session.Session(region_name=found.region, **keys)
        sqs: Any = session.client("sqs", endpoint_url=found.aws_endpoint)
        urls: list[str] = sqs.list_queues().get("QueueUrls", [])
        fitting = [url for url in urls if queue in ("", url.rpartition("/")[2])]
        if len(fitting) != 1:
            names = ", ".join(url.rpartition("/")[2] for url in urls)
            raise WeatherError(
                f"queues of this world: {names}. Choose one with --queue"
                if names
                else "this world has no queue yet: a stack makes one, as `make demo` does"
            )
        sqs.send_message(QueueUrl=fitting[0], MessageBody=body)
        typer.echo(f"sent to {fitting[0].rpartition('/')[2]}")


def _endpoint() -> str:
    return world.load(paths.world_folder()).aws_endpoint


def _change(change: Callable[[Json], None]) -> None:
    endpoint = _endpoint()
    forecast = weather_client.get(endpoint)
    change(forecast)
    _say(weather_client.put(endpoint, forecast))


def _pair(setting: str) -> tuple[str, Any]:
    name, separator, value = setting.partition("=")
    if not separator:
        raise WeatherError(f"{setting!r}: write NAME=VALUE, such as boot_seconds=30")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _say(content: Json) -> None:
    typer.echo(json.dumps(content, indent=2))


@contextmanager
def _mended() -> Generator[None]:
    try:
        yield
    except (WeatherError, world.NoWorldError, botocore.exceptions.BotoCoreError) as error:
        saying.error(str(error))
        raise typer.Exit(1) from None


saying.list_whole(app)
