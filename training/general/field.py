"""Sentence pairs recast from public sets about who did what to whom: order of arguments, references, missing premises.

The files are those of `../shared/data/field` (its README names source and licence of each). Of every set three
quarters, by a hash of the text, are trained on; the rest is for choosing between runs. What stands under *test* there
(PAWS and GAP have such a split) is in neither part. The sets of `benchmarks.paper.challenge natural` are recast there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.paper.challenge.sentence_pairs import Row, SentencePair, gap, is_trained, paws, relations, syntactic


def breaking(rows: list[Row]) -> Iterator[SentencePair]:
    """One word exchanged: all that is entailed, and as many contradictions."""
    share = sum(r["label"] == "entailment" for r in rows) / max(1, sum(r["label"] == "contradiction" for r in rows))
    for row in rows:
        if row["label"] != "contradiction" or random.Random(row["premise"] + row["hypothesis"]).random() < share:
            yield SentencePair(row["premise"], row["hypothesis"], row["label"], row["premise"])


def entailment_bank(rows: list[Row]) -> Iterator[SentencePair]:
    """Premises → what follows; without one that the proof needs; without one that it does not need."""
    for row in rows:
        if row["split"] != "train":
            continue
        premises, rng = row["premises"], random.Random(row["hypothesis"])
        needed = [i for i in range(len(premises)) if re.search(rf"\bsent{i + 1}\b", row["proof"])]
        spare = [i for i in range(len(premises)) if i not in needed]
        without = rng.choice(spare) if spare and rng.random() < 0.7 else -1
        yield SentencePair(_joined(premises, without), row["hypothesis"], "entailment", row["hypothesis"])
        if needed:
            yield SentencePair(
                _joined(premises, rng.choice(needed)), row["hypothesis"], "not_entailment", row["hypothesis"]
            )


def _joined(premises: list[str], without: int) -> str:
    return " ".join(f"{p.rstrip('.')}." for i, p in enumerate(premises) if i != without)


def tabfact(rows: list[Row]) -> Iterator[SentencePair]:
    """A statement against its falsified form, and against itself as another writer would set it."""
    for row in rows:
        true, rng = row["true_statement"], random.Random(row["true_statement"])
        again = true.replace(" 's", "'s").replace(" ,", ",").rstrip(" .")
        again = rng.choice((f"{again[:1].upper()}{again[1:]}.", f"According to the table, {again}.", f"{again}."))
        yield SentencePair(true, again, "entailment", true)
        yield SentencePair(true, row["false_statement"], "contradiction", true)


SETS: dict[str, tuple[Callable[[list[Row]], Iterator[SentencePair]], int]] = {
    "paws_wiki_dev_test": (paws, 6), "relations_directed": (relations, 1), "gap_coreference": (gap, 1),
    "nli_syntactic_augmentation": (syntactic, 2), "nli_breaking": (breaking, 1),
    "entailment_bank": (entailment_bank, 1), "tabfact_minimal_pairs": (tabfact, 1),
}  # fmt: skip
"""File → how it is recast, and how often each of its pairs is seen in a pass."""


def recast(folder: Path, name: str) -> list[SentencePair]:
    """All pairs of a set outside its test split."""
    rows = pq.read_table(folder / f"{name}.parquet").to_pylist()
    return [pair for pair in SETS[name][0](rows) if not pair.test]


def read(folder: Path, tests: Path) -> dict[str, list[str]]:
    """The pairs to train on, with the columns of :func:`.nli.read`; premises of the NLI tests are left out."""
    tested = set(pq.read_table(tests, columns=["premise"])["premise"].to_pylist())
    columns: dict[str, list[str]] = {n: [] for n in ("premise", "hypothesis", "label", "source", "tier")}
    for name, (_, times) in SETS.items():
        for pair in recast(folder, name):
            if is_trained(pair.key) and pair.premise not in tested:
                for column, value in zip(columns.values(), (*pair[:3], name, "human"), strict=True):
                    column += [value] * times
    return columns
