"""``scorer gates init``: write gates files from an output."""

from __future__ import annotations

from pathlib import Path

from ..errors import UsageError
from ..system.arguments import option
from .console import say
from .ending import App
from .options import BY, FinishedArgument, written

app = App(help="Write the gates of an audit.")


@app.command("init")
def init_command(
    out: FinishedArgument,
    gates: Path = option("File for gates on values; must not exist.", "FILE", Path("gates.toml"), parser=written),
    changes: Path = option(
        "File for gates that need a baseline; must not exist.", "FILE", Path("changes.toml"), parser=written
    ),
    by: tuple[tuple[str, ...], ...] = BY,
) -> None:
    """Write gates files that suit an output.

    Limits follow from the rates of OUT and the sizes of its groups; a comment at each names the smallest increase that
    it finds. Change them to what is acceptable for your data. Gates that need a baseline are in a file of their own,
    because the first run has none.
    """
    from ..audit import AuditOptions, audit
    from ..audit.suggest import change_gates, value_gates
    from ..storage.finished_output import local_outputs
    from ..storage.user_files import write_user_file

    targets = ((gates, "--gates", value_gates), (changes, "--changes", change_gates))
    for path, name, _ in targets:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{name} {path} exists; remove it, or name another file")
    with local_outputs(out) as folders:
        document = audit(folders, AuditOptions(by=by, worst=0))
    for path, name, content in targets:
        write_user_file(path, content(document).encode("utf-8", "replace"), name)
        say(f"wrote {path}")
