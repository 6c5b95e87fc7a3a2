"""``scorer gates``: write gates files from an output, and check what gates can find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .common import ByOption, RatesOption, ReferenceOption, local, parse_by, print_json, say
from .ending import App
from .files import written

app = App(help="Write and check the gates of an audit.")

OutArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUT", parser=local, help="Finished output folder of `scorer run`; exits 2 if it is not finished."
    ),
]


@app.command("init")
def init_command(
    out: OutArgument,
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

    Thresholds follow from the rates of OUT and the sizes of its groups; comments say what each gate detects. Change
    them to what is acceptable for your data. Gates that need a baseline are in a file of their own, because the first
    run has none.
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


@app.command("check")
def check_command(
    out: OutArgument,
    gates: Annotated[
        list[Path],
        typer.Option("--gates", metavar="FILE", parser=local, help="Gates (TOML); exits 2 if invalid. Repeatable."),
    ],
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="OUT0",
            parser=local,
            help="Output to compare with. Default: assume one with the rates and sizes of OUT.",
        ),
    ] = None,
    rates: RatesOption = None,
    reference: ReferenceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show which gates can fire on an output.

    For rates, show the smallest increase that a gate detects, and how often it fails although nothing changed: per
    group, in any group, and in 30 runs. Without --baseline, all rows are assumed to be new. Exits 2 if a gate can fire
    in no group.
    """
    from ..audit import AuditOptions, audit
    from ..audit.reach import check_gates, groupings_of, useless
    from ..audit.reference import read_reference
    from ..audit.rules import check_columns, load_gates
    from ..scoring.outputs import open_output
    from ..scoring.rates_file import RatesFile
    from .show.gates import print_reach

    rules = load_gates(gates)
    known = RatesFile.read(rates, "--rates") if rates is not None else None
    output = open_output(out, False)
    check_columns(rules, output.names, True, True, known)
    by = groupings_of(rules)
    pinned = read_reference(reference, output, [(), *by], "not-ok") if reference is not None else None
    document = audit(out, AuditOptions(baseline=baseline, by=by, worst=0, rates=rates))
    found = check_gates(rules, document, known, pinned)
    if as_json:
        print_json(found, allow_nan=False)
    else:
        print_reach(found)
    if nowhere := useless(found):
        raise UsageError(
            f"{nowhere[0]} can fire in no group"
            + (f", and {len(nowhere) - 1} more cannot" if len(nowhere) > 1 else "")
            + "; change its thresholds or min_rows, or remove it"
        )
