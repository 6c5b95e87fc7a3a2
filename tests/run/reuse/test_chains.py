"""Chains of nights over random inputs with random options: reuse gives the output of a run from scratch."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.storage.receipts import RECEIPTS
from tests.bundles import make_bundle
from tests.run.calls import bytes_of, run
from tests.run.reuse.nights import assert_labels_of

pytestmark = pytest.mark.usefixtures("inline_runs")

NIGHTS, ROWS = 4, 90
Row = dict[str, Any]
_SPELLINGS = ("triples", "strings", "json")
_NAMES = ("Blue Spice", "The Mill", "Zizzi", "a|b", "Łódź")


def _facts(random_: random.Random, number: int) -> list[tuple[str, str, str]]:
    name = random_.choice(_NAMES[:3])
    kinds = [("eatType", "pub"), ("food", random_.choice(("French", "Thai"))), ("area", f"ward {number % 11}"),
             ("priceRange", "cheap")]  # fmt: skip
    return [(name, *kind) for kind in random_.choices(kinds, k=random_.randint(1, 4))]


def _new_row(random_: random.Random, number: int) -> Row:
    facts = _facts(random_, number)
    text = f"{facts[0][0]} is a {facts[-1][2]} number {number % 40}."
    chance = random_.random()
    return {"id": number, "facts": facts, "text": None if chance < 0.05 else "" if chance < 0.1 else text,
            "selected": random_.choice([None, None, [0], [len(facts) - 1, 0], [9]])}  # fmt: skip


def _edited(random_: random.Random, row: Row) -> Row:
    change: Row = random_.choice(
        [{"text": f"It is {random_.random():.3f}."}, {"facts": row["facts"][::-1]}, {"selected": [0]}, {"text": None}]
    )
    return row | change


def _next_night(random_: random.Random, rows: list[Row]) -> list[Row]:
    """Some rows removed, edited, added and repeated, and all of them in another order."""
    kept = [row for row in rows if random_.random() > 0.1]
    changed = [_edited(random_, row) if random_.random() < 0.15 else row for row in kept]
    first = max(row["id"] for row in rows) + 1
    added = [_new_row(random_, first + i) for i in range(random_.randint(0, 25))]
    found = [*changed, *added, *random_.choices(kept, k=4)]
    random_.shuffle(found)
    return found


def _write(random_: random.Random, rows: list[Row], folder: Path) -> None:
    """The rows in files of random sizes; the facts of each file in a spelling of its own."""
    starts = sorted({0, *random_.sample(range(len(rows)), random_.randint(0, 3))})
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(rows)], strict=True)):
        part, spelling = rows[start:end], random_.choice(_SPELLINGS)
        columns: Row = {name: [row[name] for row in part] for name in ("id", "text")}
        named = [[dict(zip(("subject", "predicate", "object"), f, strict=True)) for f in row["facts"]] for row in part]
        if spelling == "triples":
            columns["triples"] = named
        elif spelling == "json":
            columns["triples"] = [json.dumps(facts) for facts in named]
        else:
            columns["triples"] = [[" | ".join(fact) for fact in row["facts"]] for row in part]
        columns["selected"] = pa.array([row["selected"] for row in part], pa.list_(pa.int32()))
        columns["text"] = pa.array(columns["text"], pa.string())
        path = folder / random_.choice(("", "deep")) / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path, row_group_size=random_.choice((7, 40, 1000)))


def _options(random_: random.Random, folder: Path) -> list[Any]:
    """Options of all nights of a chain, so that their signatures are equal."""
    templates = folder / "templates.json"
    templates.write_text('{"eatType": "<subject> is a <object>.", "food": "<subject> serves <object> food."}')
    found: list[Any] = ["--max-error-rate", 1]
    for options in (
        ("--protocol", "nlgi_eval"),
        ("--templates", templates),
        ("--optional", "eatType=pub"),
        ("--checks", "hallucination"),
        ("--sentences",),
        ("--exact",),
        ("--details",),
        ("--overlong", "truncate"),
        ("--prefix", "p_"),
    ):
        if random_.random() < 0.3:
            found += options
    if "nlgi_eval" in found and "hallucination" in found:
        found.remove("--protocol"), found.remove("nlgi_eval")
    return found


def _damaged(random_: random.Random, out: Path) -> None:
    """An earlier run that did not finish, or an output that was changed since."""
    name = random_.choice(sorted(bytes_of(out)))
    if random_.random() < 0.5:
        (out / RECEIPTS / f"{name}.json").unlink()
    else:
        (out / name).write_bytes((out / name).read_bytes()[:-9])


def _labels(out: Path, prefix: str) -> list[Row]:
    names = ["id", *(prefix + name for name in ("fine", "rough", "omitted", "error", "note", "row_key"))]
    return [row for name in sorted(bytes_of(out)) for row in pq.read_table(out / name, columns=names).to_pylist()]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("chains") / "tiny", precisions=["fp32", "int8"])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_nights_over_earlier_nights_are_runs_from_scratch(seed: int, tmp_path: Path, bundle: Path) -> None:
    random_ = random.Random(seed)
    options = _options(random_, tmp_path)
    rows = [_new_row(random_, i) for i in range(ROWS)]
    outs: list[Path] = []
    reused = 0
    for night in range(NIGHTS):
        data, scratch, out = (tmp_path / f"{name}{night}" for name in ("in", "scratch", "out"))
        _write(random_, rows, data)
        run(data, scratch, bundle, *options)
        earlier = [one for out in random_.sample(outs, random_.randint(1, len(outs))) for one in ("--reuse", out)]\
            if outs else []  # fmt: skip
        reused += run(data, out, bundle, *options, *earlier)["rows"]["reused"]
        prefix = "p_" if "p_" in options else ""
        if "--exact" in options:  # each run measures its own margin: a pair may be of fp32 in one and not in the other
            assert _labels(out, prefix) == _labels(scratch, prefix)
        else:
            assert_labels_of(scratch, out, prefix)
        # Of the next nights, some build on an output that is damaged or not whole.
        if random_.random() < 0.3:
            out = Path(shutil.copytree(out, tmp_path / f"damaged{night}"))
            _damaged(random_, out)
        outs.append(out)
        rows = _next_night(random_, rows)
    assert reused > 0
