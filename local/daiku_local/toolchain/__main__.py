"""`python -m daiku_local.toolchain`: make the tools, print their folder."""

import sys

from daiku_local import toolchain


def main() -> int:
    """Progress goes to standard error, the folder of the tools to standard output."""
    try:
        tools = toolchain.ensure()
    except toolchain.ToolchainError as error:
        print(f"tools: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tools: interrupted; what is done is kept", file=sys.stderr)
        return 130
    print(tools.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
