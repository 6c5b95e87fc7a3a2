"""Score a fixed sample and print digests, to show that a change to the program changed no label.

    python tests/reference.py OUT                    # scores the sample into OUT (an empty folder), prints digests
    python tests/reference.py OUT --against EARLIER  # compares with the folder that an earlier version made

Run it at two commits on one machine: probabilities in fp32 depend on the processor. It scores public E2E and WebNLG17
rows with the small restaurant model (`--details --sentences --exact`), scores them again with some texts changed and
`--reuse`, and keeps the JSON of an audit with a baseline and gates, of `evaluate` and of `rate`. Labels, probabilities
and row keys are compared bit for bit; of each JSON the paths that differ are listed, without times and versions.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "public"
# At the tag `reference` the model is a product; later it is a fixture of the tests.
BUNDLES = [ROOT / "tests" / "bundles" / "e2e", ROOT / "scorer" / "embedded" / "e2e"]
SCORED = ["fine", "rough", "confidence", "omitted", "fact_entailment", "text_entailment", "error", "note", "row_key"]
DETAILS = ["sentences", "details", "reused"]
# What differs between two runs of one program: times, places, and how the work was cut.
VOLATILE = {"seconds", "speed", "started", "finished", "versions", "elapsed", "rate", "run", "written", "created"}

GATES = """
[[gates]]
metric = "not_ok_rate"
by = ["system"]
against = "baseline"
warn = 0.05
fail = 0.08
min_rows = 20

[[gates]]
metric = "hallucination_rate"
warn = 0.2
fail = 0.9

[[gates]]
metric = "mean_confidence"
against = "baseline"
fail = 0.2
"""


def sample(inputs: Path, changed: Path) -> None:
    """Every 24th row of E2E and every 6th of WebNLG17; in `changed` every tenth text is that of the next row."""
    for folder in (inputs, changed):
        folder.mkdir(parents=True)
    for name, step in (("e2e_primary", 24), ("webnlg17_humeval", 6)):
        table = pq.read_table(DATA / f"{name}.parquet")
        rows = table.take(pa.array(range(0, table.num_rows, step)))
        columns = ["system", "triples", "text", "gold_fine", "gold_rough", "human_semantics"]
        rows = rows.select([column for column in columns if column in rows.column_names])
        pq.write_table(rows, inputs / f"{name}.parquet", row_group_size=100)
        texts = rows["text"].to_pylist()
        texts = [texts[(row + 1) % len(texts)] if row % 10 == 0 else text for row, text in enumerate(texts)]
        rows = rows.set_column(rows.column_names.index("text"), "text", pa.array(texts))
        pq.write_table(rows, changed / f"{name}.parquet", row_group_size=100)


def scorer(*arguments: object, codes: tuple[int, ...] = (0,)) -> str:
    """Standard output of one command of this tree."""
    command = [sys.executable, "-m", "scorer", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def make(out: Path) -> None:
    """Outputs and JSON documents of every step, below `out`."""
    inputs, changed = out / "in", out / "changed"
    sample(inputs, changed)
    bundle = next(folder for folder in BUNDLES if folder.is_dir())
    settings = ["--bundle", bundle, "--device", "cpu", "--precision", "int8", "--details", "--sentences", "--exact"]
    run = scorer("run", inputs, "--out", out / "first", *settings, "--json")
    again = scorer("run", changed, "--out", out / "second", *settings, "--reuse", out / "first", "--json")
    (out / "gates.toml").write_text(GATES)
    audited = scorer(
        "audit", out / "second", "--baseline", out / "first", "--gates", out / "gates.toml", "--json", codes=(0, 1)
    )
    e2e, webnlg = (out / "first" / f"{name}.parquet" for name in ("e2e_primary", "webnlg17_humeval"))
    documents = {
        "run": run,
        "run_reuse": again,
        "audit": audited,
        "evaluate_e2e": scorer("evaluate", e2e, "--json"),
        "evaluate_webnlg": scorer("evaluate", webnlg, "--json"),
        "rate": scorer("rate", e2e, "--label-column", "gold_fine", "--by", "system", "--json"),
    }
    for name, text in documents.items():
        (out / f"{name}.json").write_text(text)


def digests(out: Path) -> dict[str, str]:
    """SHA-256 of each output's labels, probabilities and row keys, by file and column."""
    found: dict[str, str] = {}
    for run in ("first", "second"):
        for file in sorted((out / run).glob("*.parquet")):
            table = pq.read_table(file)
            for column in SCORED + DETAILS:
                if column in table.column_names:
                    found[f"{run}/{file.name}:{column}"] = digest(table[column])
    return found


def digest(column: pa.ChunkedArray) -> str:
    """SHA-256 of the values of one column, whatever its chunks and dictionaries are."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    return hashlib.sha256(repr(column.to_pylist()).encode()).hexdigest()[:16]


def differences(now: Any, before: Any, path: str = "") -> Iterator[str]:
    """Paths at which two JSON documents differ, with both values."""
    if isinstance(now, dict) and isinstance(before, dict):
        for key in sorted(now.keys() | before.keys()):
            if key in VOLATILE:
                continue
            if key not in now or key not in before:
                yield f"{path}.{key}: {'new' if key in now else 'gone'}"
            else:
                yield from differences(now[key], before[key], f"{path}.{key}")
    elif isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        for place, (one, other) in enumerate(zip(now, before, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif now != before:
        yield f"{path}: {json.dumps(before)[:80]} -> {json.dumps(now)[:80]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path, help="folder made by an earlier version on this machine")
    given = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"the evaluation data is not at {DATA}")
    make(given.out)
    found = digests(given.out)
    for name, value in found.items():
        print(f"{value}  {name}")
    for file in sorted(given.out.glob("*.json")):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}  {file.name}")
    if given.against is None:
        return 0
    before = digests(given.against)
    changed = [name for name in sorted(found.keys() | before.keys()) if found.get(name) != before.get(name)]
    for name in changed:
        print(f"CHANGED  {name}")
    for file in sorted(given.out.glob("*.json")):
        earlier = json.loads((given.against / file.name).read_text())
        for line in differences(json.loads(file.read_text()), earlier):
            print(f"{file.name}{line}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
