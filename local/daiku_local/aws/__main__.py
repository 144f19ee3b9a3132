"""Run the stand-in AWS of a laptop world until it is told to stop (SIGTERM or Ctrl-C)."""

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from daiku_local import world as worlds
from daiku_local.aws import account, moto_door, server


def main(arguments: list[str] | None = None) -> int:
    """Serve until stopped; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m daiku_local.aws", description=__doc__)
    parser.add_argument("--world", type=Path, required=True, help="folder of the laptop world")
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    options = parser.parse_args(arguments)
    try:
        world = worlds.load(options.world)
        endpoint = server.make(account.make(world), options.port)
    except (worlds.NoWorldError, moto_door.UnknownMotoError, server.PortTakenError) as error:
        sys.stderr.write(f"{error}\n")
        return 1

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    sys.stdout.write(f"stand-in AWS of {world.folder}: http://{server.HOST}:{options.port}\n")
    sys.stdout.flush()
    try:
        endpoint.serve_forever()
    except KeyboardInterrupt:
        endpoint.server_close()
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Taking moto's models apart object by object takes half a second and saves nothing.
    os._exit(status)
