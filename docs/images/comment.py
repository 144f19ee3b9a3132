"""Make a picture of a comment on a pull request: `python docs/images/comment.py COMMENT.md FILE.png`.

The comment is what .github/workflows/preview.yml writes: its commands ran on the laptop world, where the controller
had been stopped while 60 pods were pending. Needs Chromium, in which the page is drawn much as GitHub draws it.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

WIDTH: Final = 860
"""Pixels."""
_FOLDED: Final = re.compile(r"<details>.*?</details>", re.DOTALL)
_PAGE: Final = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 14px/1.5 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif; color: #1f2328; margin: 16px; }}
article {{ border: 1px solid #d1d9e0; border-radius: 6px; }}
header {{ background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e; }}
main {{ padding: 0 16px 8px; }}
h3 {{ font-size: 1.25em; margin: 16px 0; }}
table {{ border-collapse: collapse; margin-bottom: 16px; }}
th, td {{ border: 1px solid #d1d9e0; padding: 6px 13px; }}
tr:nth-child(even) {{ background: #f6f8fa; }}
</style><article><header><b>github-actions</b> bot commented</header><main>{comment}</main></article>"""


def main(arguments: list[str]) -> int:
    """Render, draw, cut to size."""
    if len(arguments) != 2:
        sys.stderr.write("usage: comment.py COMMENT.md FILE.png\n")
        return 2
    source, target = Path(arguments[0]), Path(arguments[1])
    renderer = MarkdownIt("commonmark", {"html": True}).enable("table")
    text = source.read_text()
    # A line of a table is 34 pixels high; what is folded is one line.
    shown = _FOLDED.sub("one line", text)
    height = 60 + 34 * sum(bool(line.strip()) for line in shown.splitlines())
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "comment.html"
        page.write_text(_PAGE.format(comment=renderer.render(text)))
        drawn = subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--screenshot={target.resolve()}",
                f"--window-size={WIDTH},{height}",
                page.as_uri(),
            ],
            check=False,
        )
    return drawn.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
