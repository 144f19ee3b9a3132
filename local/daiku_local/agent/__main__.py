"""Run the agent of a laptop world: `python -m daiku_local.agent --world DIR`."""

import argparse
import logging
import os
import sys
from pathlib import Path

from daiku_local.agent import supervisor
from daiku_local.agent.addresses import NoAddressError
from daiku_local.agent.settings import SettingsError
from daiku_local.agent.supervisor import AgentError
from daiku_local.world import NoWorldError


def main() -> int:
    """Parse the command line and run until told to end."""
    parser = argparse.ArgumentParser(prog="python -m daiku_local.agent", description=__doc__)
    parser.add_argument("--world", type=Path, required=True, help="folder of the laptop world")
    parser.add_argument(
        "--kubelet-port", type=int, help="port of the kubelet of every node; left out: none"
    )
    parser.add_argument("--kwok-port", type=int, default=0, help="port of kwok, for port-forward")
    options = parser.parse_args()
    folder: Path = options.world.resolve()
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s.%(msecs)03d %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
        stream=sys.stdout,
    )
    environment = dict(os.environ)
    for name in list(os.environ):
        # A profile of the user must not send this agent to a real account.
        if name.startswith("AWS_") and name != "AWS_CA_BUNDLE":
            del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    try:
        return supervisor.run(folder, environment, options.kubelet_port, options.kwok_port)
    except (AgentError, NoWorldError, NoAddressError, SettingsError, OSError) as error:
        print(f"the agent cannot run: {error}", file=sys.stderr)  # noqa: T201 - the user's answer
        return 1


if __name__ == "__main__":
    sys.exit(main())
