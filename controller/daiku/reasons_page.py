"""The page of all reasons, made from their table: `python -m daiku.reasons_page > docs/reasons.md`."""

from collections.abc import Iterator
from typing import Final

from daiku import reasons
from daiku.reason import WHERE, Kind

HEAD: Final = """# Reasons

Events, conditions, metrics and the tools give the same reason for the same thing. These are all of them, by what they
are a reason of. A word can stand under several titles; `daiku explain reason WORD` says the same of one word. Reasons
of events that Karpenter has are Karpenter's. The sentence beside a reason has the names and numbers of the case.

Not listed: AWS's own error codes (`UnauthorizedOperation`, ...), which conditions of an EC2NodeClass pass on, and types
of conditions (`Launched`, `Ready`, ...), which are the reason of a condition that has nothing else to say. A NodePool
whose node class is not ready passes on the reason of the node class.

This page is made from the code: `python -m daiku.reasons_page > docs/reasons.md`.
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(f"{line}\n" for kind in Kind for line in _section(kind))


def _section(kind: Kind) -> Iterator[str]:
    where = WHERE[kind]
    yield from ("", f"## {kind.value}", "", f"Where: {where}.", "")
    yield from ("| Reason | Meaning | What would change it |", "|---|---|---|")
    for row in reasons.TABLE.values():
        if kind in row.kinds:
            yield f"| `{row.reason}` | {row.means} | {row.remedy or '-'} |"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
