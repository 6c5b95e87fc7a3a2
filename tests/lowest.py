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


def scorer(*arguments: object, code: int = 0) -> str:
    """Run a command; its standard output."""
    command = [sys.executable, "-m", "scorer", *map(str, arguments)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == code, f"{command} ended with {ended.returncode}: {ended.stderr}"
    assert "Traceback" not in ended.stderr and "Warning" not in ended.stderr, ended.stderr
    return ended.stdout


def labels(path: Path) -> list[Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    assert table["error"].null_count == len(table)
    return table.select(["fine", "omitted", "confidence"]).to_pylist()


def versions(folder: Path) -> None:
    for name, lowest in pins().items():
        numbers = [int(part) for part in (*lowest.split("."), "0", "0")][:3]
        found = [int(part) for part in (*metadata.version(name).split("."), "0", "0")][:3]
        assert found == numbers, f"{name} is {metadata.version(name)}, and the lowest is {lowest}"


def one_row(folder: Path) -> None:
    assert scorer("--version").startswith("d2t-scorer ")
    help_text = scorer("run", "--help")
    assert "[required]" in help_text and "\\[" not in help_text
    found = scorer("check", "--triples", "Blue Spice | eatType | pub", "--text", "Blue Spice is a pub.")
    assert found.startswith("OK (OK)"), found


def input_formats(folder: Path) -> None:
    import pyarrow.parquet as pq

    rows = pq.read_table(SAMPLE, columns=["triples", "text"]).to_pylist()
    with (folder / "rows.jsonl").open("w") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["triples", "text"])
        writer.writerows([json.dumps(row["triples"]), row["text"]] for row in rows)
    scorer("run", SAMPLE, "--bundle", "embedded", "--out", folder / "scored")
    expected = labels(folder / "scored" / "domains.parquet")
    assert len(expected) == len(rows)
    for name in ("rows.jsonl", "rows.csv"):
        scorer("run", folder / name, "--bundle", "embedded", "--out", folder / f"{name}.out")
        assert labels(folder / f"{name}.out" / "rows.parquet") == expected, name


def ways_to_run(folder: Path) -> None:
    expected = labels(folder / "scored" / "domains.parquet")
    ways = {
        "devices": ("--devices", "cpu:2"),
        "exact": ("--exact",),
        "reuse": ("--reuse", folder / "scored"),
        "sentences": ("--sentences",),
    }
    for name, options in ways.items():
        scorer("run", SAMPLE, "--bundle", "embedded", "--out", folder / name, *options)
        found = labels(folder / name / "domains.parquet")
        assert name == "exact" or found == expected, name
    scorer("plan", SAMPLE, "--bundle", "embedded")
    scorer("status", folder / "scored")


def finished_outputs(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    night = folder / "night"
    night.mkdir()
    rows = pq.read_table(SAMPLE).to_pylist()[:-1]
    rows[0], rows[1]["text"] = rows[1] | {"text": rows[0]["text"]}, "Nothing is known of it."
    pq.write_table(pa.Table.from_pylist(rows), night / "domains.parquet")
    scorer("run", night, "--bundle", "embedded", "--out", folder / "tonight", "--reuse", folder / "scored")
    reports = {"--report": "report.html", "--summary": "summary.md", "--metrics": "m.prom", "--junit": "junit.xml"}
    options = [word for option, name in reports.items() for word in (option, folder / name)]
    found = scorer("audit", folder / "tonight", "--baseline", folder / "scored", *options, "--json")
    assert json.loads(found)
    assert "</html>" in (folder / "report.html").read_text()
    assert all((folder / name).stat().st_size for name in reports.values())
    scorer("audit", folder / "scored")
    assert "stored: " in scorer("explain", folder / "scored", "--row", "domains.parquet:3")
    figures = json.loads(scorer("evaluate", folder / "scored", "--json"))
    assert figures["rows"] == 12 and figures["fine"]["accuracy"] > 0.5
    assert "starts" in scorer("doctor", "--bundle", "embedded")


def python(folder: Path) -> None:
    import pyarrow.parquet as pq

    from scorer import Scorer, Triple

    with Scorer.embedded() as opened:
        assert opened.score([Triple("Blue Spice", "eatType", "pub")], "Blue Spice is a pub.").fine == "OK"
        table = opened.score_table(pq.read_table(SAMPLE))
    assert table["fine"].to_pylist() == [row["fine"] for row in labels(folder / "scored" / "domains.parquet")]


def main() -> None:
    if sys.argv[1:] == ["--pins"]:
        print(*(f"{name}=={version}" for name, version in pins().items()))
        return
    with tempfile.TemporaryDirectory() as folder:
        checks = (versions, one_row, input_formats, ways_to_run, finished_outputs, python)
        for check in checks:
            check(Path(folder))
            print(f"lowest: {check.__name__} passed", flush=True)
    print(f"{len(checks)} passed, 0 failed")


if __name__ == "__main__":
    main()
