"""Run the metrics server and the front door of a laptop world until told to stop (SIGTERM or Ctrl-C)."""

import argparse
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from daiku_local import world as worlds
from daiku_local.metrics import api, door, registration
from daiku_local.metrics.cluster import Cluster, ClusterError
from daiku_local.metrics.traffic import Traffic


def main(arguments: list[str] | None = None) -> int:
    """Serve until stopped; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m daiku_local.metrics", description=__doc__)
    parser.add_argument("--world", type=Path, required=True, help="folder of the laptop world")
    parser.add_argument("--port", type=int, required=True, help="port of metrics.k8s.io")
    parser.add_argument("--door-port", type=int, required=True, help="port of the front door")
    options = parser.parse_args(arguments)
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        world = worlds.load(options.world)
        cluster, traffic = Cluster(world), Traffic(time.monotonic)
        servers = (
            api.make(api.Metrics(cluster, traffic), options.port, world.pki),
            door.make(cluster, traffic, options.door_port),
        )
        for server in servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        registration.register(cluster, options.port, (world.pki / "ca.crt").read_bytes())
    except (worlds.NoWorldError, ClusterError, OSError) as error:
        sys.stderr.write(f"the metrics server cannot run: {error}\n")
        return 1
    sys.stdout.write(f"metrics.k8s.io on port {options.port}, door on {options.door_port}\n")
    sys.stdout.flush()
    stopped.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
