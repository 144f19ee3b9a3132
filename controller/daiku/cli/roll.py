"""`daiku roll`: the command line. What it does is in `rolling`, imported only when it is asked for."""

import sys
from typing import TYPE_CHECKING, Annotated, Final, Self

import typer

from daiku.cli import failure, surroundings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daiku.cli.rolling.following import Stand
    from daiku.cli.rolling.rounds import Member, Selection
    from daiku.kube.client import Client

UNUSABLE: Final = 2
"""Exit code when the cluster cannot be read or written, or no node is meant."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""

HELP: Final = """Replace the nodes of a NodePool, or those of a kubelet version, in waves.

The controller replaces them as it does drifted nodes: within budgets for reason Drifted, one first, then a
tenth, then the rest, each wave ready for a minute before the next, each replacement ready before its node is
drained, PodDisruptionBudgets kept.

\b
Examples:
  daiku roll --nodepool general              # begin, or go on, and watch
  daiku roll --kubelet-version 1.35          # every node whose kubelet is still 1.35
  daiku roll --nodepool general --dry-run    # which nodes that would be
  daiku roll --pause | --abort | --status    # all rolls, or those of a --nodepool

The state is an annotation on the NodeClaims: Ctrl-C only ends the watching, and the same command goes on where it was.

Exit code: 0 done; 2 no node is meant, or the cluster refuses; 130 Ctrl-C.
"""


def roll(
    *,
    pools: Annotated[
        list[str] | None,
        typer.Option("--nodepool", metavar="NAME", help="Nodes of this NodePool. Repeatable."),
    ] = None,
    kubelet: Annotated[
        str,
        typer.Option(
            "--kubelet-version", metavar="VERSION", help="Nodes with this kubelet, such as 1.35."
        ),
    ] = "",
    pause: Annotated[
        bool, typer.Option("--pause", help="Replace no more for now; what is going goes.")
    ] = False,
    abort: Annotated[
        bool, typer.Option("--abort", help="Replace no more and forget the roll.")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Say how far it is.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which nodes would be replaced.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Watch until all are replaced.")
    ] = True,
) -> None:
    """Begin, watch, pause or end a roll."""
    from daiku.cli.rolling import rounds  # noqa: PLC0415  (what is imported here, no other command should pay)
    from daiku.kube import credentials, errors  # noqa: PLC0415
    from daiku.kube.client import Client  # noqa: PLC0415

    if pause + abort + status + dry_run > 1:
        failure.fail(["--pause, --abort, --status and --dry-run exclude each other"], UNUSABLE)
    selection = rounds.Selection(pools=tuple(pools or ()), kubelet=kubelet)
    begins = not (pause or abort or status)
    if begins and not (pools or kubelet):
        failure.fail(["say which nodes: --nodepool NAME, or --kubelet-version 1.35"], UNUSABLE)
    try:
        client = Client(credentials.Credentials(surroundings.environ()))
        known = rounds.read(client)
        members = [m for m in known if selection.has(m)]
        if begins and not members:
            there = ", ".join(
                sorted({f"NodePool {m.pool} with kubelet {m.kubelet}" for m in known})
            )
            failure.fail(
                [f"no node with a NodeClaim is meant; there are: {there or 'none'}"], UNUSABLE
            )
        if begins:
            _begin(client, members, selection, dry_run=dry_run, wait=wait)
        else:
            _change(client, members, pause=pause, abort=abort)
    except (credentials.NoClusterError, errors.KubeError) as error:
        failure.fail([surroundings.said(error)], UNUSABLE)


def _begin(
    client: "Client",
    members: "Sequence[Member]",
    selection: "Selection",
    *,
    dry_run: bool,
    wait: bool,
) -> None:
    from daiku.cli.rolling import following, rounds  # noqa: PLC0415
    from daiku.runtime import clock  # noqa: PLC0415

    marks = rounds.begin(members, clock.now())
    if not marks:
        failure.fail(["no node with a NodeClaim is meant; see `daiku view`"], UNUSABLE)
    if dry_run:
        for member in members:
            if member.name in marks:
                typer.echo(f"{member.node or member.name}  {member.pool}  {member.kubelet}")
        return
    goes_on = any(member.mark is not None for member in members)
    shown = _Shown()
    try:
        rounds.write(client, marks)
        typer.echo(f"{'goes on' if goes_on else 'begins'}: {len(marks)} to be replaced", err=True)
        if not wait:
            return
        with shown:
            end = following.Follower(client, selection, shown.show, shown.hint, shown.say).follow()
    except KeyboardInterrupt:
        typer.echo(
            "the roll goes on in the cluster; --pause or --abort ends it, the same command watches again",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(str(end))


def _change(client: "Client", members: "Sequence[Member]", *, pause: bool, abort: bool) -> None:
    from daiku.cli.rolling import following, rounds  # noqa: PLC0415

    marked = [member for member in members if member.mark is not None]
    now = following.stand(marked)
    if not marked:
        typer.echo("no roll is under way")
    elif abort:
        rounds.write(client, dict.fromkeys((m.name for m in marked if not m.going), None))
        typer.echo(f"aborted: {now}")
    elif pause:
        rounds.write(client, rounds.paused(marked))
        typer.echo(f"paused: {now}")
    else:
        typer.echo(str(now))


class _Shown:
    """A bar on a terminal, lines elsewhere."""

    def __init__(self) -> None:
        from rich import progress  # noqa: PLC0415
        from rich.console import Console  # noqa: PLC0415

        self._is_terminal = sys.stderr.isatty()
        self._bar = progress.Progress(
            progress.BarColumn(),
            progress.TextColumn("{task.description}"),
            progress.TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        if self._is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            self._bar.stop()

    def show(self, now: "Stand") -> None:
        """How far it is."""
        self._bar.update(self._task, description=str(now), completed=now.done, total=now.total)
        if not self._is_terminal:
            typer.echo(str(now), err=True)

    def say(self, held: str) -> None:
        """What holds a node up."""
        # Whole where nobody's terminal breaks it, as in a log.
        self._bar.console.print(
            held, markup=False, highlight=False, soft_wrap=not self._is_terminal
        )

    def hint(self, now: "Stand") -> None:
        """Nothing has changed for long."""
        stuck = next((m.node or m.name for m in now.left), "")
        self._bar.console.print(
            f"nothing has changed for a while; `daiku explain node {stuck}` says what holds it"
        )
