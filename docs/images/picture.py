"""Make a picture of what a command shows on a terminal: `python docs/images/picture.py FILE.svg COLUMNS COMMAND...`.

The command runs on a terminal of its own, so that it draws what it draws for a person, colours and all; what it
printed becomes an SVG that needs nothing beside itself. The pictures of the README are made so, from commands that ran
on the laptop world:

    KEEP=1 make demo
    daiku local exec -- kubectl apply -f examples/walkthrough/web.yaml && daiku local load default/web -c 5 -t 150
    daiku local exec -- python docs/images/picture.py docs/images/view.svg 124 daiku view --once
"""

import io
import os
import pty
import re
import sys
from pathlib import Path
from typing import Final

from rich import terminal_theme
from rich.console import Console
from rich.text import Text

_FONT_FACES: Final = re.compile(r"@font-face \{.*?\}", re.DOTALL)
"""rich names a font of another site; a picture should ask nobody."""
_COLUMNS_LINE: Final = 'stty cols {columns} rows 200 && exec "$@" 2>/dev/null'


def main(arguments: list[str]) -> int:
    """Run, draw, write."""
    if len(arguments) < 3:
        sys.stderr.write("usage: picture.py FILE.svg COLUMNS COMMAND...\n")
        return 2
    target, columns, *command = arguments
    printed, status = _run(command, int(columns))
    Path(target).write_text(_drawn(printed, int(columns), " ".join(command)))
    return status


def _run(command: list[str], columns: int) -> tuple[str, int]:
    """What `command` prints on a terminal of so many columns, and its exit status."""
    printed = bytearray()

    def read(descriptor: int) -> bytes:
        chunk = os.read(descriptor, 65536)
        printed.extend(chunk)
        return chunk

    sized = ["/bin/sh", "-c", _COLUMNS_LINE.format(columns=columns), "sh", *command]
    os.environ["TERM"], os.environ["COLORTERM"] = "xterm-256color", "truecolor"
    status = os.waitstatus_to_exitcode(pty.spawn(sized, read))
    return printed.decode(errors="replace"), status


def _drawn(printed: str, columns: int, title: str) -> str:
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    for line in printed.replace("\r", "").rstrip("\n").split("\n"):
        console.print(Text.from_ansi(line), no_wrap=True, overflow="crop", soft_wrap=True)
    picture = console.export_svg(
        title=title,
        theme=terminal_theme.DIMMED_MONOKAI,
        unique_id=Path(title.split(maxsplit=1)[0]).name,
    )
    return _FONT_FACES.sub("", picture)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
