"""Run the API server's way to pods until told to stop (SIGTERM or Ctrl-C)."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from daiku_local.egress import proxy


def main(arguments: list[str] | None = None) -> int:
    """Serve until stopped; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m daiku_local.egress", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="port of the loopback")
    parser.add_argument("--pki", type=Path, required=True, help="folder of the certificates")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(_serve(options.port, options.pki))
    except OSError as error:
        sys.stderr.write(f"the way to pods cannot be opened: {error}\n")
        return 1
    return 0


async def _serve(port: int, pki: Path) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    server = await proxy.serve(port, pki)
    sys.stdout.write(f"the way to pods is on port {port}\n")
    sys.stdout.flush()
    await stopped.wait()
    server.close()


if __name__ == "__main__":
    sys.exit(main())
