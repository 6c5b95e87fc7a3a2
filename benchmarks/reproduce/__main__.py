"""``python -m benchmarks.reproduce.__main__``, the command behind ``make reproduce``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from scorer.commands.common import local, print_json, say
from scorer.commands.ending import App, run_app


def reproduce_command(
    bundle: Annotated[str, typer.Option("--bundle", metavar="B", help="Bundle folder, or `embedded`.")],
    templates_e2e: Annotated[
        Path, typer.Option("--templates-e2e", metavar="FILE", parser=local, help="Templates for E2E.")
    ],
    templates_webnlg: Annotated[
        Path, typer.Option("--templates-webnlg", metavar="FILE", parser=local, help="Templates for WebNLG.")
    ],
    data: Annotated[
        Path,
        typer.Option(
            "--data", metavar="DIR", parser=local, help="Folder with e2e_primary.parquet and webnlg17_humeval.parquet."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="OUT", parser=local, help="Folder for inputs, runs and figures; resumes.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Score E2E and WebNLG17 under both protocols, with templates and by backoff, and print one table.

    Eight runs; a rerun resumes. The figures are also written to OUT/figures.json.
    """
    from scorer.commands.show.evaluation import wide_console
    from scorer.errors import ScorerError
    from scorer.evaluation.correlation import available
    from scorer.evaluation.published import notes_of
    from scorer.inference.choices import BUILTIN_BUNDLES
    from scorer.storage.user_files import write_user_file

    from .reproduce import print_lines, reproduce

    def score(source: Path, templates: Path, folder: Path, protocol: str) -> None:
        say(f"scoring {folder.name}")
        call = [sys.executable, "-m", "scorer", "run", str(source), "--out", str(folder), "--bundle", bundle]
        call += ["--templates", str(templates), "--protocol", protocol, "--max-error-rate", "1", "--json"]
        ended = subprocess.run(call, stdout=subprocess.DEVNULL, check=False)
        if ended.returncode:
            raise ScorerError(f"scorer run into {folder} ended with {ended.returncode}; see its messages above")

    if not available():
        say("note: ρ is null: install the extra stats (pip install 'd2t-scorer[stats]')")
    lines = reproduce(data, {"e2e": templates_e2e, "webnlg": templates_webnlg}, out, score)
    text = json.dumps(lines, indent=1, ensure_ascii=False)
    write_user_file(out / "figures.json", (text + "\n").encode(), "--out")
    if as_json:
        print_json(lines)
    else:
        print_lines(lines, wide_console())
    if bundle in BUILTIN_BUNDLES:
        for note in notes_of(BUILTIN_BUNDLES[bundle].model):
            say(f"note: {note}")


if __name__ == "__main__":
    alone = App(add_completion=False)
    alone.command()(reproduce_command)
    sys.exit(run_app(alone, "python -m benchmarks.reproduce.__main__"))
