"""Each command of docs/recipes.md runs as it is written, in a folder that has what the recipe speaks of."""

from __future__ import annotations

import csv
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.commands import COMMANDS
from tests.conftest import ROOT
from tests.docs.test_examples import blocks
from tests.run.calls import rows, scorer

PAGE = ROOT / "docs" / "recipes.md"
LINES = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("scorer ")]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """Inputs, bundles, gates, and the outputs ``scored`` and ``yesterday``."""
    folder = tmp_path_factory.mktemp("recipes") / "folder"
    half = rows(20)
    table = pa.concat_tables([half, half]).append_column("system", pa.array(["a"] * 20 + ["b"] * 20))
    for name in ("data", "bundles"):
        (folder / name).mkdir(parents=True)
    for name in ("data.parquet", "data/one.parquet", "data/two.parquet"):
        pq.write_table(table, folder / name)
    for name in ("B", "bundles/roberta-large-mnli"):
        (folder / name).symlink_to(tiny)
    (folder / "gates.toml").write_text('[[gates]]\nmetric = "error_rate"\nfail = 0.5\n')
    for data, out in (("data.parquet", "scored"), ("data", "yesterday")):
        scorer("run", folder / data, "--out", folder / out, "--bundle", tiny, *MANY_ERRORS)
    return folder


@pytest.fixture
def scored(outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them as the working directory."""
    folder = Path(shutil.copytree(outputs, tmp_path / "folder", symlinks=True))
    monkeypatch.chdir(folder)
    return folder


def before(line: str) -> list[str]:
    """What a recipe expects of people or leaves to them; options that the errors of the test's rows need."""
    if line.startswith("scorer rate"):
        scorer("sample", "scored", "--rows", 200, "--file", "labels.csv")
        with Path("labels.csv").open(newline="") as file:
            sampled = list(csv.DictReader(file))
        with Path("labels.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, sampled[0].keys())
            writer.writeheader()
            writer.writerows({**row, "label": "OK" if i % 2 else "omission"} for i, row in enumerate(sampled))
    if "matches.csv" in line:
        Path("scored").rename("other")
        Path("matches.csv").write_text("match;home;away;date;output\nm 1;Ash;Bow;2026-01-02;Ash played Bow.\n")
    if line.startswith("scorer audit parts"):
        for part in (1, 2):
            scorer("run", "data", "--out", f"parts/{part}", "--bundle", "B", "--part", f"{part}/2", *MANY_ERRORS)
    if line.startswith("scorer audit tonight"):
        scorer("run", "data", "--out", "tonight", "--bundle", "B", "--reuse", "yesterday", *MANY_ERRORS)
    return MANY_ERRORS if line.startswith("scorer run") else []


MANY_ERRORS = ["--max-error-rate", "1"]
LEFT_BEHIND: dict[str, Callable[[], bool]] = {
    "compare": Path("rates.tex").exists,
    "sample": Path("labels.html").exists,
}


@pytest.mark.parametrize("line", [line for line in LINES if not line.startswith("scorer challenge")])
def test_a_command_of_the_page_runs(line: str, scored: Path) -> None:
    words = shlex.split(line.partition(" > ")[0])[1:]
    assert words[0] in COMMANDS
    done = scorer(*words, *before(line))
    assert done.stdout or done.stderr
    assert LEFT_BEHIND.get(words[0], lambda: True)()


@pytest.mark.slow
def test_the_challenge_of_the_page_runs(scored: Path) -> None:
    (line,) = (line for line in LINES if line.startswith("scorer challenge"))
    assert "5,200 pairs" in scorer(*shlex.split(line)[1:]).stdout


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_the_python_of_the_page_runs(library: str, scored: Path) -> None:
    frames = pytest.importorskip(library)
    table = pq.read_table("data.parquet")
    frame = frames.from_arrow(table) if library == "polars" else table.to_pandas()
    names = {"frame": frame}
    for code in blocks(PAGE, "py"):
        exec(compile(code, "recipes.md", "exec"), names)
    assert isinstance(names["frame"], frames.DataFrame) and "fine" in list(names["frame"].columns)
