"""``python -m benchmarks.paper``: the papers' tables, and what docs/figures.md quotes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.paper import figures, published, reliability
from benchmarks.paper.reproduce import print_lines, reproduce
from scorer.commands.console import WHOLE, make_console, number, print_json, say, signed, table
from scorer.commands.ending import App, run_app
from scorer.commands.options import local
from scorer.errors import ScorerError
from scorer.evaluation.correlation import available
from scorer.inference import BUILTIN_BUNDLES
from scorer.inference.bundle import Bundle, folder_of
from scorer.storage.user_files import write_user_file

app = App(add_completion=False, help="The papers' tables, and what docs/figures.md quotes.")
JsonOption = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
BundleOption = Annotated[str, typer.Option("--bundle", metavar="B", help="Bundle folder, or `embedded`.")]
OutOption = Annotated[Path, typer.Option("--out", parser=local, metavar="OUT", help="Folder for all results; resumes.")]


@app.command("tables")
def tables_command(
    bundle: BundleOption,
    templates_e2e: Annotated[Path, typer.Option("--templates-e2e", parser=local, help="Templates for E2E.")],
    templates_webnlg: Annotated[Path, typer.Option("--templates-webnlg", parser=local, help="Templates for WebNLG.")],
    data: Annotated[
        Path, typer.Option("--data", parser=local, help="Folder with e2e_primary.parquet and webnlg17_humeval.parquet.")
    ],
    out: OutOption,
    as_json: JsonOption = False,
) -> None:
    """Score E2E and WebNLG17 under both protocols, with templates and by backoff; print Tables 1 and 2, and write
    OUT/figures.json. Bundle and data are checked before the first of eight runs."""

    def score(source: Path, templates: Path, folder: Path, protocol: str) -> None:
        say(f"scoring {folder.name}")
        call = [sys.executable, "-m", "scorer", "run", str(source), "--out", str(folder), "--bundle", bundle]
        call += ["--templates", str(templates), "--protocol", protocol, "--max-error-rate", "1", "--json"]
        ended = subprocess.run(call, stdout=subprocess.DEVNULL, check=False)
        if ended.returncode:
            raise ScorerError(f"scorer run into {folder} ended with {ended.returncode}; see its messages above")

    Bundle.load(folder_of(bundle))
    if not available():
        say("note: ρ is null: install the extra stats (pip install 'd2t-scorer[stats]')")
    lines = reproduce(data, {"e2e": templates_e2e, "webnlg": templates_webnlg}, out, score)
    text = json.dumps(lines, indent=1, ensure_ascii=False)
    write_user_file(out / "figures.json", (text + "\n").encode(), "--out")
    if as_json:
        print_json(lines)
    else:
        print_lines(lines, make_console(least_width=WHOLE))
    if bundle in BUILTIN_BUNDLES:
        say(f"note: {published.EMBEDDED_NOTE}")


@app.command("against")
def against_command(
    scored: Annotated[Path, typer.Argument(metavar="OUT", exists=True, help="Output of a run, or one scored file.")],
    as_json: JsonOption = False,
) -> None:
    """Show published figures next to those of an output; and how its right labels go with the number of facts."""
    lines, facts = published.against(scored), published.errors_by_facts(scored)
    if as_json:
        print_json({"lines": [line._asdict() for line in lines], "facts": facts})
        return
    made = table("source", "row", "figure", "published", "ours", "difference", "n", left=3)
    for *names, printed, ours, n in lines:
        difference = signed(None if ours is None else ours - printed)
        made.add_row(*names, number(printed), number(ours), difference, f"{n:,}")
    console = make_console(least_width=WHOLE)
    console.print(made if lines else "no table of the papers is about this data")
    if facts is not None:
        console.print(
            f"Spearman of the number of facts with right labels ({facts['gold']}): {signed(facts['spearman'])}, "
            f"n {facts['n']:,}; Dušek & Kasner print -.05 and -.08 for their two data sets"
        )


@app.command("ceiling")
def ceiling_command(
    scored: Annotated[Path, typer.Argument(metavar="OUT", exists=True, help="Output with human ratings.")],
    annotations: Annotated[
        Path | None,
        typer.Option("--annotations", exists=True, help="Single ratings: row_id (the id of a text) and ratings."),
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude-system", help="Exclude this system.")] = None,
    resamples: Annotated[int, typer.Option("--resamples", min=0, help="Bootstrap samples; 0 for none.")] = 1000,
) -> None:
    """Print what no metric is expected to exceed: the reliability of ratings, by sentence and by system, as JSON."""
    print_json(reliability.ceilings(scored, annotations, exclude or (), resamples))


@app.command("figures")
def figures_command(
    sections: Annotated[list[str] | None, typer.Argument(metavar="SECTION", help="Default: all.")] = None,
    data: Annotated[Path, typer.Option("--data", help="Folder of the evaluation data.")] = Path("../shared/data"),
    bundle: BundleOption = "embedded",
    out: OutOption = Path("figures-out"),
) -> None:
    """Run what docs/figures.md quotes: e2e-gold, webnlg17, webnlg20, basketball, quintd, d2t-eval, challenge."""
    Bundle.load(folder_of(bundle))
    steps = figures.commands(sections or list(figures.SECTIONS), data, bundle, out)
    out.mkdir(parents=True, exist_ok=True)
    figures.run(steps, say)


if __name__ == "__main__":
    sys.exit(run_app(app, "python -m benchmarks.paper"))
