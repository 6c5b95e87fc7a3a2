"""``scorer explain``: a scored row again, with what was asked and answered."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from .common import Precision, guarded, local, open_scorer, print_json, say, tell


@guarded
def explain_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", parser=local, help="Output folder of `scorer run`.")],
    row: Annotated[
        str | None, typer.Option("--row", metavar="FILE:N", help="Output file below OUT, and row counted from 0.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", metavar="HEX", help="A row_key in hexadecimal.")] = None,
    precision: Annotated[
        Precision | None, typer.Option("--precision", help="Recompute with another variant than the run's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """A scored row again: facts, C/N/E of each check, the stored label beside the recomputed one."""
    from ..run.explain import explain, find_row, with_bound_of_run
    from ..scoring.output_files import columns_of, settings_of
    from .show.verdict import print_verdict

    settings = settings_of(out)
    columns = columns_of(settings)
    settings.pop("columns", None)
    file, number = find_row(out, row, key)
    if precision is not None:
        settings["precision"] = precision.value
    with open_scorer(settings) as scorer:
        found = explain(out, with_bound_of_run(scorer, out), file, number, columns)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    tell(f"{file}:{number}  key {found.key}")
    for position, fact in enumerate(found.recomputed.facts):
        tell(f"fact {position}: {fact}")
    print_verdict(found.recomputed)
    stored = found.stored
    if stored.get("fine") is not None:
        tell(f"stored: {stored['fine']}, confidence {stored['confidence']:.4f}")
    elif stored.get("error") is not None:
        tell(f"stored: error {stored['error']}")
    if found.difference is not None:
        bound = {True: "within", False: "beyond", None: "without"}[found.within_bound]
        allowed = f" of {found.allowed:.2g}" if found.allowed is not None else ""
        tell(f"largest difference of an entailment probability: {found.difference:.2g}, {bound} a bound{allowed}")
    if not found.same_labels:
        say("note: the recomputed label differs from the stored one")
    if found.signature != found.stored_signature:
        say(f"note: stored under another signature: {found.stored_signature}")
