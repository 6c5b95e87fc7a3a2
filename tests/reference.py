"""Score a fixed sample in every form, and show that a change to the program changed no label.

    python tests/reference.py OUT                    # scores the sample into OUT (an empty folder), prints digests
    python tests/reference.py OUT --against EARLIER  # compares with the folder that an earlier version made
    python tests/reference.py OUT --root TREE        # of another checkout, with the interpreter that is given

Run it at two commits on one machine: probabilities in fp32 depend on the processor. The rows are public E2E and
WebNLG17 rows, the model is the small one of the tests. Whole files are compared by SHA-256; where one differs, labels,
probabilities and row keys are compared column by column, bit for bit: those decide. Of each JSON document the paths
that differ are listed, without times and versions.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.bundles import make_bundle  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "public"
SCORED = ["fine", "rough", "confidence", "omitted", "contradicted", "fact_entailment", "text_entailment"]
SCORED += ["all_facts_entailment", "error", "note", "row_key", "sentences", "details", "reused", "facts"]
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

RUNS: dict[str, tuple[str, list[str]]] = {
    "first": ("in", ["--details", "--sentences", "--exact"]),
    "second": ("changed", ["--details", "--sentences", "--exact", "--reuse", "{out}/first"]),
    "attributes": ("attributes", ["--details"]),
    "facts": ("facts", ["--details"]),
    "mr": ("mr", ["--mr-column", "mr"]),
    "csv": ("csv", ["--mr-column", "mr"]),
    "jsonl": ("jsonl", ["--details"]),
    "strings": ("strings", []),
    "selected": ("selected", ["--details"]),
    "nlgi_eval": ("in", ["--protocol", "nlgi_eval", "--details"]),
    "factspotter": ("in", ["--protocol", "factspotter", "--bundle", "{out}/inputs/bundle"]),
    "hallucination": ("in", ["--checks", "hallucination"]),
    "optional": ("in", ["--optional", "eatType=restaurant", "--missing-template", "backoff"]),
    "truncate": ("long", ["--overlong", "truncate"]),
    "too_long": ("long", []),
    "fp32": ("in", ["--precision", "fp32", "--keep", "system"]),
    "two_processes": ("many", ["--devices", "cpu:2", "--details"]),
    "row_ranges": ("in", ["--split-rows", "100"]),
    "limit": ("in", ["--limit", "130"]),
}
"""By output, its input below OUT/inputs and its options, besides those of every run."""
EMBEDDED = "embedded"  # the sample that ships, with the model that ships
KILLED = "killed"  # `many` again in one process, killed after some shards and resumed: the files of `two_processes`


def rows_of(name: str, step: int) -> pa.Table:
    """Every ``step``-th row of a public data set, with the columns that are scored or evaluated."""
    table = pq.read_table(DATA / f"{name}.parquet")
    rows = table.take(pa.array(range(0, table.num_rows, step)))
    columns = ["system", "triples", "text", "gold_fine", "gold_rough", "human_semantics"]
    return rows.select([column for column in columns if column in rows.column_names]).replace_schema_metadata(None)


def sample(out: Path) -> None:
    """Inputs of all runs, each a folder below ``out``."""

    def write(folder: str, name: str, table: pa.Table, **options: Any) -> None:
        (out / folder).mkdir(parents=True, exist_ok=True)
        pq.write_table(table, out / folder / f"{name}.parquet", **options)

    e2e, webnlg = rows_of("e2e_primary", 48), rows_of("webnlg17_humeval", 12)
    for name, table in (("e2e_primary", e2e), ("webnlg17_humeval", webnlg)):
        write("in", name, table, row_group_size=60)
        texts = table["text"].to_pylist()
        texts = [texts[(row + 1) % len(texts)] if row % 10 == 0 else text for row, text in enumerate(texts)]
        place = table.column_names.index("text")
        write("changed", name, table.set_column(place, "text", pa.array(texts)), row_group_size=60)
        write("selected", name, table.append_column("selected", pa.array([[0]] * table.num_rows)))
        long = [None if i % 7 == 0 else "" if i % 11 == 0 else f"{text} " * (40 if i % 5 == 0 else 1)
                for i, text in enumerate(table["text"].to_pylist()[:60])]  # fmt: skip
        write("long", name, table.slice(0, 60).set_column(place, "text", pa.array(long)))
        strings = [[" | ".join(t.values()) for t in row] for row in table["triples"].to_pylist()]
        columns = {"triples": strings, "text": table["text"].to_pylist()}
        write("strings", name, pa.table(columns))
        sentences = [[f"{t['subject']} has {t['predicate']} {t['object']}." for t in row]
                     for row in table["triples"].to_pylist()]  # fmt: skip
        write("facts", name, pa.table({"facts": sentences, "text": columns["text"]}))
        (out / "jsonl").mkdir(exist_ok=True)
        lines = [json.dumps(row, ensure_ascii=row["system"] < "k") for row in table.to_pylist()]
        (out / "jsonl" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    for part in range(40):
        write("many", f"part-{part:02d}", rows_of("e2e_primary", 16).slice(part * 12, 12))
    mr, attributes = [], []
    for row in e2e["triples"].to_pylist():
        slots = (
            {"name": row[0]["subject"]} | {t["predicate"]: t["object"] for t in row} if row else {"name": "Alimentum"}
        )
        mr.append(", ".join(f"{slot}[{value}]" for slot, value in slots.items()))
        attributes.append(slots)
    meaning = pa.table({"mr": mr, "text": e2e["text"], "system": e2e["system"]})
    write("mr", "e2e", meaning)
    write("attributes", "e2e", pa.table({"attributes": attributes, "text": e2e["text"]}))
    (out / "csv").mkdir()
    pyarrow.csv.write_csv(meaning, out / "csv" / "e2e.csv")


class Program:
    """The commands of one checkout, run with this interpreter."""

    def __init__(self, root: Path):
        self.root = root
        self.bundle = root / "tests" / "bundles" / "e2e"
        self.environment = {**os.environ, "PYTHONPATH": str(root)}

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "scorer", *map(str, arguments)]

    def scorer(self, *arguments: object, codes: tuple[int, ...] = (0,)) -> str:
        """Standard output of one command."""
        command = self.command(*arguments)
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True)
        if done.returncode not in codes:
            raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def run(self, out: Path, name: str, folder: str, options: list[str]) -> str:
        """The JSON of `scorer run` of one folder below ``out`` into another."""
        settings = ["--max-error-rate", "1", *([] if "--devices" in options else ["--device", "cpu"])]
        if "--bundle" not in options:
            settings += ["--bundle", self.bundle]
            settings += [] if "--precision" in options else ["--precision", "int8"]
        options = [option.format(out=out) for option in options]
        return self.scorer("run", out / "inputs" / folder, "--out", out / name, *settings, *options, "--json")

    def killed(self, out: Path) -> None:
        """Score `many` into KILLED, kill the whole group of processes after five shards, and resume."""
        settings = ["--bundle", self.bundle, "--device", "cpu", "--precision", "int8", "--details"]
        command = self.command("run", out / "inputs" / "many", "--out", out / KILLED, *settings)
        running = subprocess.Popen(
            command, cwd=self.root, env=self.environment, stderr=subprocess.DEVNULL, start_new_session=True
        )
        while len(list((out / KILLED / "_receipts").glob("**/*.json"))) < 5:
            if running.poll() is not None:
                raise SystemExit("the run that was to be killed ended before")
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        if (out / KILLED / "_SUCCESS").exists():
            raise SystemExit("the run that was to be killed was finished")
        self.scorer(*command[3:])


def make(out: Path, program: Program) -> None:
    """Outputs and JSON documents of every step, below `out`."""
    sample(out / "inputs")
    labels, scheme = ("absent", "present"), ("binary", "present", 0.5)
    make_bundle(
        out / "inputs" / "bundle", labels=labels, scheme=scheme, order="hypothesis_first", one_text=True, max_length=512
    )
    for name, (folder, options) in RUNS.items():
        (out / f"run_{name}.json").write_text(program.run(out, name, folder, options))
    program.killed(out)
    domains = program.root / "scorer" / "embedded" / "domains.parquet"
    program.scorer("run", domains, "--out", out / EMBEDDED, "--bundle", "embedded", "--device", "cpu", "--details")
    (out / "gates.toml").write_text(GATES)
    gates = ["--gates", out / "gates.toml"]
    audited = program.scorer("audit", out / "second", "--baseline", out / "first", *gates, "--json", codes=(0, 1))
    e2e, webnlg = (out / "first" / f"{name}.parquet" for name in ("e2e_primary", "webnlg17_humeval"))
    documents = {
        "audit": audited,
        "evaluate_e2e": program.scorer("evaluate", e2e, "--json"),
        "evaluate_webnlg": program.scorer("evaluate", webnlg, "--json"),
    }
    for name, text in documents.items():
        (out / f"{name}.json").write_text(text)


def files(out: Path) -> dict[str, Path]:
    """Every Parquet file of every output, by its path below ``out``."""
    found = [file for name in [*RUNS, KILLED, EMBEDDED] for file in sorted((out / name).rglob("*.parquet"))]
    named = {file.relative_to(out): file for file in found if file.is_file()}
    return {str(path): file for path, file in named.items() if not any(part.startswith("_") for part in path.parts)}


def whole(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def columns(file: Path) -> dict[str, str]:
    """SHA-256 of the values of each scored column, whatever its chunks and dictionaries are."""
    table = pq.read_table(file, partitioning=None)
    return {name: digest(table[name]) for name in SCORED if name in table.column_names}


def digest(column: pa.ChunkedArray) -> str:
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


def compare(out: Path, against: Path) -> bool:
    """Print what differs; True if a label, a probability or a key does."""
    now, before = files(out), files(against)
    changed = False
    for name in sorted(now.keys() | before.keys()):
        if name not in now or name not in before:
            print(f"CHANGED  {name}: {'new' if name in now else 'gone'}")
            changed = True
        elif whole(now[name]) != whole(before[name]):
            one, other = columns(now[name]), columns(before[name])
            differ = sorted(column for column in one.keys() | other.keys() if one.get(column) != other.get(column))
            print(f"CHANGED  {name}: {', '.join(differ)}" if differ else f"bytes    {name}: equal in every column")
            changed |= bool(differ)
    for file in sorted(out.glob("*.json")):
        if not (against / file.name).exists():
            continue
        earlier = json.loads((against / file.name).read_text().replace(str(against), ""))
        for line in differences(json.loads(file.read_text().replace(str(out), "")), earlier):
            print(f"{file.name}{line}")
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path, help="folder made by an earlier version on this machine")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout whose program is run")
    given = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"the evaluation data is not at {DATA}")
    given.out.mkdir(parents=True, exist_ok=True)
    out = given.out.resolve()
    make(out, Program(given.root.resolve()))
    found = files(out)
    for name, file in found.items():
        print(f"{whole(file)}  {name}")
    part = {name.partition("/")[2]: whole(file) for name, file in found.items() if name.startswith("two_processes/")}
    resumed = {name.partition("/")[2]: whole(file) for name, file in found.items() if name.startswith(f"{KILLED}/")}
    if part != resumed:
        print("CHANGED  a killed and resumed run and one of two processes gave different files")
    changed = given.against is not None and compare(out, given.against.resolve())
    return 1 if changed or part != resumed else 0


if __name__ == "__main__":
    sys.exit(main())
