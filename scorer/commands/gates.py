"""``scorer gates init``: write gates files from an output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .console import say
from .ending import App
from .options import ByOption, local, parse_by, written

app = App(help="Write the gates of an audit.")


@app.command("init")
def init_command(
    out: Annotated[
        list[Path],
        typer.Argument(
            metavar="OUT",
            parser=local,
            help="Finished output of `scorer run`, or its parts; exits 2 if it is not finished or a part is missing.",
        ),
    ],
    gates: Annotated[
        Path, typer.Option("--gates", metavar="FILE", parser=written, help="File for gates on values; must not exist.")
    ] = Path("gates.toml"),
    changes: Annotated[
        Path,
        typer.Option(
            "--changes", metavar="FILE", parser=written, help="File for gates that need a baseline; must not exist."
        ),
    ] = Path("changes.toml"),
    by: ByOption = None,
) -> None:
    """Write gates files that suit an output.

    Limits follow from the rates of OUT and the sizes of its groups; a comment at each names the smallest increase that
    it finds. Change them to what is acceptable for your data. Gates that need a baseline are in a file of their own,
    because the first run has none.
    """
    from ..audit import AuditOptions, audit
    from ..audit.suggest import change_gates, value_gates
    from ..storage.user_files import write_user_file

    targets = ((gates, "--gates", value_gates), (changes, "--changes", change_gates))
    for path, option, _ in targets:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{option} {path} exists; remove it, or name another file")
    document = audit(out, AuditOptions(by=parse_by(by), worst=0))
    for path, option, content in targets:
        write_user_file(path, content(document).encode("utf-8", "replace"), option)
        say(f"wrote {path}")
