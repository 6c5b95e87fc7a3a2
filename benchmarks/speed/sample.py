"""Rows like those of a nightly evaluation, and the distinct pairs of their checks: the same for the same seed.

Many *systems* answer each input (a restaurant with 3 to 8 facts) with one of a few phrasings per slot, and sometimes
drop or add a fact. So inputs and texts repeat, and lengths are distributed as in E2E.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.inference.bundle import Bundle
from scorer.inference.tokenizer import TextTokenizer
from scorer.metric import ColumnNames, Options
from scorer.metric.checks import build_checks
from scorer.metric.fact_templates import Templates
from scorer.metric.inputs import find_columns

PARTS = ("subject", "predicate", "object")
TRIPLES = pa.list_(pa.struct([(part, pa.string()) for part in PARTS]))
SLOTS: dict[str, list[str]] = {
    "eatType": ["pub", "restaurant", "coffee shop"],
    "food": ["French", "English", "Italian", "Japanese", "Indian", "Chinese", "Fast food"],
    "priceRange": ["cheap", "moderate", "high", "less than £20", "£20-25", "more than £30"],
    "customer rating": ["low", "average", "high", "1 out of 5", "3 out of 5", "5 out of 5"],
    "area": ["riverside", "city centre"],
    "familyFriendly": ["yes", "no"],
    "near": ["Crowne Plaza Hotel", "Café Sicilia", "Burger King", "The Bakers", "Raja Indian Cuisine"],
}
PHRASES: dict[str, list[str]] = {
    "eatType": ["is a {}", "is a nice {} to visit", "can be described as a {}"],
    "food": ["serves {} food", "offers {} dishes", "has a menu of {} cuisine"],
    "priceRange": ["has {} prices", "is in the {} price range", "charges {} prices for its meals"],
    "customer rating": ["has a customer rating of {}", "is rated {} by its customers", "got {} from its guests"],
    "area": ["is located in the {}", "lies in the {} area", "can be found in the {}"],
    "familyFriendly": ["answers {} when asked if it is family friendly", "says {} to children"],
    "near": ["is near {}", "can be found close to {}", "stands right beside {}"],
}
SYLLABLES = ["Ba", "Cor", "Del", "Fen", "Gra", "Hol", "Lin", "Mar", "Nor", "Pel", "Ros", "Sal", "Tam", "Vil", "Wen"]


def make_inputs(rng: np.random.Generator, n: int, facts: int | None = None) -> list[list[tuple[str, str, str]]]:
    """Facts of inputs, three to seven each, or so many as ``facts`` says."""
    made = []
    for _ in range(n):
        name = "The " + "".join(rng.choice(SYLLABLES, 3)).capitalize()
        slots = rng.permutation(list(SLOTS))[: facts or rng.integers(3, len(SLOTS) + 1)]
        made.append([(name, slot, str(rng.choice(SLOTS[slot]))) for slot in slots])
    return made


def render(rng: np.random.Generator, triples: list[tuple[str, str, str]], style: int) -> str:
    """The text of one system for an input: mostly in its own phrasing, sometimes with a dropped or an added fact."""
    said = [t for t in triples if rng.random() > 0.05]
    if rng.random() < 0.03:
        slot = str(rng.choice(list(SLOTS)))
        said.append((triples[0][0], slot, str(rng.choice(SLOTS[slot]))))
    phrases = [PHRASES[s][(style + i) % len(PHRASES[s])].format(o) for i, (_, s, o) in enumerate(said)]
    half = (len(phrases) + 1) // 2
    sentences = [" and ".join(part) for part in (phrases[:half], phrases[half:]) if part]
    return " ".join(f"{triples[0][0] if i == 0 else 'It'} {s}." for i, s in enumerate(sentences))


def make_rows(
    rng: np.random.Generator, count: int, first: int = 0, systems: int = 20, facts: int | None = None
) -> pa.Table:
    """Rows with ids from ``first`` on. ``systems``: number of texts for each input, which follow one another."""
    inputs = make_inputs(rng, -(-count // systems), facts)
    triples = [inputs[i // systems] for i in range(count)]
    return pa.table(
        {
            "id": pa.array(np.arange(first, first + count)),
            "system": pa.array([f"system-{i % systems}" for i in range(count)]).dictionary_encode(),
            "triples": pa.array([[dict(zip(PARTS, one, strict=True)) for one in row] for row in triples], TRIPLES),
            "text": pa.array([render(rng, row, i % systems % 3) for i, row in enumerate(triples)]),
        }
    )


def write_rows(out: Path, rows: int, shards: int, seed: int = 0, systems: int = 20) -> None:
    out.mkdir(parents=True, exist_ok=True)
    rng, done = np.random.default_rng(seed), 0
    for shard in range(shards):
        table = make_rows(rng, (rows * (shard + 1)) // shards - done, done, systems)
        pq.write_table(table, out / f"part-{shard:04d}.parquet", compression="zstd")
        done += len(table)


@dataclass(frozen=True)
class PairSample:
    """Files and counts of a sample. ``pairs``: distinct ones, which a run computes; ``tokens``: of these."""

    rows_file: str
    pairs_file: str
    rows: int
    pairs: int
    tokens: int


def write_sample(folder: Path, bundle: Bundle, pairs: int) -> PairSample:
    """Write ``rows.parquet``, whose texts are all different, and ``pairs.json``, at least so many distinct ones."""
    # Every row gives more than one pair, and nearly every row more than three.
    table = make_rows(np.random.default_rng(5), max(min(pairs, 4096), pairs // 3), 0, 1)
    templates = Templates.load(bundle.templates_file) if bundle.templates_file else Templates()
    columns = find_columns(table.schema, ColumnNames())
    checks = build_checks(columns.rows(table), templates, Options())
    keys = checks.premise.astype(np.int64) << 32 | checks.hypothesis.astype(np.int64)
    first = np.sort(np.unique(keys, return_index=True)[1])  # the first check of every distinct pair
    count = int(checks.row[first][min(pairs, len(first)) - 1]) + 1
    first = first[checks.row[first] < count]
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    rows_file = folder / "rows" / "rows.parquet"
    pq.write_table(table.slice(0, count), rows_file, compression="zstd")
    chosen = [(checks.texts[checks.premise[i]], checks.texts[checks.hypothesis[i]]) for i in first.tolist()]
    tokenizer = TextTokenizer(bundle)
    texts = tokenizer.encode(checks.texts).lengths
    lengths = texts[checks.premise[first]] + texts[checks.hypothesis[first]] + bundle.layout.overhead
    pairs_file = folder / "pairs.json"
    pairs_file.write_text(json.dumps({"pairs": chosen, "tokens": lengths.tolist()}))
    return PairSample(str(rows_file), str(pairs_file), rows=count, pairs=len(chosen), tokens=int(lengths.sum()))
