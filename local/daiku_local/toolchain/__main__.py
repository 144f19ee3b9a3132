"""`python -m daiku_local.toolchain`: make the tools, print their folder."""

import sys

from daiku_local import interruption, toolchain
from daiku_local.toolchain import progress


def main() -> int:
    """Progress goes to standard error, the folder of the tools to standard output."""
    interruption.end_in_order()
    try:
        tools = toolchain.ensure()
    except toolchain.ToolchainError as error:
        progress.to_stderr(str(error))
        return 1
    except KeyboardInterrupt:
        progress.to_stderr("interrupted; what is done is kept")
        return 130
    sys.stdout.write(f"{tools.folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
