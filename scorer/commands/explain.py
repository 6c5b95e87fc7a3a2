"""``scorer explain``: recompute a scored row and show every check."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from ..inference.choices import Precision
from .common import location, open_scorer, print_json, say


def explain_command(
    out: Annotated[
        list[Any],  # a Path or a StoreUri: typer takes no unions
        typer.Argument(
            metavar="OUT", parser=location, help="Output of `scorer run`, or its parts, local or in a store."
        ),
    ],
    row: Annotated[
        str | None,
        typer.Option(
            "--row",
            metavar="FILE:N",
            help="Output file below OUT, and row number from 0 (N alone where there is one file); exits 2 if there is "
            "no such row.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="HEX", help="Row with this hexadecimal row_key; exits 2 if there is none."),
    ] = None,
    precision: Annotated[
        Precision | None,
        typer.Option("--precision", help="Model variant; exits 2 if the bundle lacks it. Default: the run's."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Recompute a scored row and compare it with the output.

    Print the facts, the contradiction (C), neutral (N) and entailment (E) probabilities of every check, and the stored
    and the recomputed label. With the run's bundle, precision and kind of device, model calls have the size, layout and
    attention that the run recorded.
    """
    from ..run.explain import budgets_of_run, explain, find_row, with_bound_of_run
    from ..scoring.outputs import Output
    from ..storage.local_copy import local_outputs
    from .console.verdict import print_explanation

    name = row.rpartition(":")[0] if row is not None else ""
    with local_outputs(out, lambda relative: not name or f"{relative}/".startswith(f"{name}/")) as folders:
        output = Output.open(*folders, allow_partial=True)
        settings, number = output.run_settings, find_row(output, row, key)
        plan = output.plan_of(number)
        if precision is not None:
            settings = dataclasses.replace(settings, precision=precision)
        with open_scorer(settings, budgets_of_run(plan, settings)) as scorer:
            found = explain(output, with_bound_of_run(scorer, plan), number)
    if as_json:
        print_json(found)
        return
    print_explanation(found)
    if not found.same_labels:
        say("note: the recomputed label differs from the stored one")
    if found.signature != found.stored_signature:
        say(f"note: the row was stored under another signature: {found.stored_signature}")
