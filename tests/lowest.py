"""The commands with the lowest versions that pyproject.toml allows: `make test-lowest`.

With ``--pins`` it prints those versions, as pip takes them; that needs nothing but Python. Without, it runs in an
environment of them, which has no pytest: each check is a command, and what it prints or writes.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "scorer" / "embedded" / "domains.parquet"
EXTRAS = ("cpu", "stats", "factspotter")
"""Not among them: what needs a GPU, a store, a cluster, or gigabytes of packages."""
BOUND = re.compile(r"([A-Za-z0-9_.-]+)[>=]=([0-9.]+)(?:,<[0-9.]+)?")


def pins() -> dict[str, str]:
    """Lowest version of each dependency of the program and of the extras above."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(text for x in EXTRAS for text in project["optional-dependencies"].get(x, ()))]
    found = [BOUND.fullmatch(text) for text in named]
    assert all(found), f"a dependency without a lower bound: {named}"
    return {one[1]: one[2] for one in found if one}


def scorer(*arguments: object) -> str:
    """Run a command; its standard output."""
    command = [sys.executable, "-m", "scorer", *map(str, arguments)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command} ended with {ended.returncode}: {ended.stderr}"
    assert "Warning" not in ended.stderr, ended.stderr
    return ended.stdout


def scored(inputs: Path, out: Path, *options: object) -> list[Any]:
    """The labels of a run of the embedded model."""
    import pyarrow.parquet as pq

    scorer("run", inputs, "--bundle", "embedded", "--out", out, *options)
    table = pq.read_table(out / f"{inputs.stem}.parquet")
    assert table["error"].null_count == len(table)
    return table.select(["fine", "omitted", "confidence"]).to_pylist()


def versions(folder: Path) -> None:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in (*version.split("."), "0", "0")][:3]

    for name, lowest in pins().items():
        assert numbers(metadata.version(name)) == numbers(lowest), name


def one_row(folder: Path) -> None:
    from scorer import Scorer, Triple

    assert scorer("--version").startswith("d2t-scorer ")
    help_text = scorer("run", "--help")
    assert "[required]" in help_text and "\\[" not in help_text
    assert scorer("check", "--triples", "Blue Spice | eatType | pub", "--text", "Blue Spice is a pub.").startswith("OK")
    with Scorer.embedded() as opened:
        assert opened.score([Triple("Blue Spice", "eatType", "pub")], "Blue Spice is a pub.").fine == "OK"


def runs(folder: Path) -> None:
    import pyarrow.parquet as pq

    rows = pq.read_table(SAMPLE, columns=["triples", "text"]).to_pylist()
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (folder / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["triples", "text"], *([json.dumps(row["triples"]), row["text"]] for row in rows)])
    expected = scored(SAMPLE, folder / "scored")
    assert len(expected) == len(rows)
    for name in ("rows.jsonl", "rows.csv"):
        assert scored(folder / name, folder / f"{name}.out") == expected, name
    for options in (["--devices", "cpu:2"], ["--reuse", folder / "scored"], ["--sentences"]):
        assert scored(SAMPLE, folder / str(options[0]), *options) == expected, options
    scored(SAMPLE, folder / "exact", "--exact")
    scorer("plan", SAMPLE, "--bundle", "embedded")
    scorer("status", folder / "scored")


def finished_outputs(folder: Path) -> None:
    reports = [folder / name for name in ("report.html", "summary.md", "m.prom", "junit.xml")]
    options = zip(("--report", "--summary", "--metrics", "--junit"), reports, strict=True)
    written = [word for one in options for word in one]
    assert json.loads(scorer("audit", folder / "--sentences", "--baseline", folder / "scored", "--across-signatures",
                             *written, "--json"))  # fmt: skip
    assert all(path.stat().st_size for path in reports)
    assert "stored: " in scorer("explain", folder / "scored", "--row", "domains.parquet:3")
    figures = json.loads(scorer("evaluate", folder / "scored", "--json"))
    assert figures["rows"] == 12 and figures["fine"]["accuracy"] > 0.5
    assert "starts" in scorer("doctor", "--bundle", "embedded")


def main() -> None:
    if sys.argv[1:] == ["--pins"]:
        print(*(f"{name}=={version}" for name, version in pins().items()))
        return
    with tempfile.TemporaryDirectory() as folder:
        checks = (versions, one_row, runs, finished_outputs)
        for check in checks:
            check(Path(folder))
            print(f"lowest: {check.__name__} passed", flush=True)
    print(f"{len(checks)} passed, 0 failed")


if __name__ == "__main__":
    main()
