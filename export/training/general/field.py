"""Sentence pairs recast from public sets about who did what to whom: order of arguments, references, missing premises.

The files are those of `../shared/data/field` (its README names source and licence of each). Of every set three
quarters, by a hash of the text, are trained on; the rest is for choosing between runs. What stands under *test* there
(PAWS and GAP have such a split) is in neither part.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

WORDINGS: dict[str, list[str]] = json.loads(Path(__file__).with_name("relations.json").read_text(encoding="utf-8"))
"""Relation → sentences with ``{h}`` (its head) and ``{t}`` (its tail)."""
SYMMETRIC = frozenset({"P26", "P2094"})
POSSESSIVE = frozenset({"his", "her", "hers"})
Row = dict[str, Any]


class Labelled(NamedTuple):
    """A pair; ``label`` as in the NLI data. ``key`` decides which part it is in."""

    premise: str
    hypothesis: str
    label: str
    key: str


def _label(entailed: bool) -> str:
    return "entailment" if entailed else "not_entailment"


def paws(rows: list[Row]) -> Iterator[Labelled]:
    """Paraphrases, both ways; where they are none, neither sentence is taken to entail the other.

    The splits share a few sentences; a row with one of the test split's is left out.
    """
    tested = {row[side] for row in rows for side in ("sentence1", "sentence2") if row["split"] == "test"}
    for row in rows:
        if row["split"] != "test" and not {row["sentence1"], row["sentence2"]} & tested:
            one, other, label = row["sentence1"], row["sentence2"], _label(row["paraphrase"])
            yield Labelled(one, other, label, one)
            yield Labelled(other, one, label, one)


def relations(rows: list[Row]) -> Iterator[Labelled]:
    """A directed relation stated of a sentence, in the right order and exchanged; also with its names exchanged."""
    for row in rows:
        rng = random.Random(row["text"])
        relation = row["relation"]
        wording = rng.choice(WORDINGS[relation if row["head_id"] else row["name"]])
        ends = (row["head"], row["tail"])
        if relation.endswith("(e2,e1)"):  # SemEval names the pair in the order of the text
            ends = ends[::-1]
        exchanged = f"{relation}/{row['text']}"
        premise, first = row["text"], ends
        if rng.random() < 0.5 and (swapped := _exchanged(row["text"], *ends)):
            premise, first = swapped, ends[::-1]
        yield Labelled(premise, _stated(wording, *first), "entailment", exchanged)
        if relation not in SYMMETRIC:
            yield Labelled(premise, _stated(wording, *reversed(first)), "not_entailment", exchanged)


def _stated(wording: str, head: str, tail: str) -> str:
    made = wording.replace("{h}", "\0").replace("{t}", tail).replace("\0", head)
    return made[0].upper() + made[1:]


def _exchanged(text: str, one: str, other: str) -> str | None:
    """The text with two names in each other's place; None unless each stands in it once and apart."""
    if text.count(one) != 1 or text.count(other) != 1 or one in other or other in one:
        return None
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


def gap(rows: list[Row]) -> Iterator[Labelled]:
    """The sentence of a pronoun, with each of two names in its place."""
    for row in rows:
        if row["split"] != "test":
            for side in ("a", "b"):
                yield Labelled(row["text"], resolved(row, side), _label(row[f"{side}_coref"]), row["text"])


def resolved(row: Row, side: str) -> str:
    """The sentence with the pronoun, and the name of `side` (a or b) in the pronoun's place."""
    text, start, pronoun = row["text"], row["pronoun_start"], row["pronoun"]
    name = row[side] + ("'s" if pronoun.lower() in POSSESSIVE and not _is_object(text, start, pronoun) else "")
    before, after = text[:start], text[start + len(pronoun) :]
    begin = max((m.end() for m in re.finditer(r"[.!?]['`\")]*\s+", before)), default=0)
    end = re.search(r"[.!?](?:\s|$)", after)
    return before[begin:] + name + (after[: end.end()] if end else after).rstrip()


def _is_object(text: str, start: int, pronoun: str) -> bool:
    """Whether *her* is an object here: punctuation or a small word follows."""
    after = text[start + len(pronoun) :].lstrip(" ").lower()
    small = r"(?:[.,;:)]|$|(?:and|to|as|in|on|at|for|from|with|by|that|when|while|because|but|who|into|a|the)\b)"
    return pronoun.lower() == "her" and re.match(small, after) is not None


def syntactic(rows: list[Row]) -> Iterator[Labelled]:
    """Subject and object exchanged, and passives, right and wrong."""
    for row in rows:
        yield Labelled(row["premise"], row["hypothesis"], row["label"], row["premise"])


def breaking(rows: list[Row]) -> Iterator[Labelled]:
    """One word exchanged: all that is entailed, and as many contradictions."""
    share = sum(r["label"] == "entailment" for r in rows) / max(1, sum(r["label"] == "contradiction" for r in rows))
    for row in rows:
        if row["label"] != "contradiction" or random.Random(row["premise"] + row["hypothesis"]).random() < share:
            yield Labelled(row["premise"], row["hypothesis"], row["label"], row["premise"])


def entailment_bank(rows: list[Row]) -> Iterator[Labelled]:
    """Premises → what follows; without one that the proof needs; without one that it does not need."""
    for row in rows:
        if row["split"] != "train":
            continue
        premises, rng = row["premises"], random.Random(row["hypothesis"])
        needed = [i for i in range(len(premises)) if re.search(rf"\bsent{i + 1}\b", row["proof"])]
        spare = [i for i in range(len(premises)) if i not in needed]
        without = rng.choice(spare) if spare and rng.random() < 0.7 else -1
        yield Labelled(_joined(premises, without), row["hypothesis"], "entailment", row["hypothesis"])
        if needed:
            yield Labelled(
                _joined(premises, rng.choice(needed)), row["hypothesis"], "not_entailment", row["hypothesis"]
            )


def _joined(premises: list[str], without: int) -> str:
    return " ".join(f"{p.rstrip('.')}." for i, p in enumerate(premises) if i != without)


def tabfact(rows: list[Row]) -> Iterator[Labelled]:
    """A statement against its falsified form, and against itself as another writer would set it."""
    for row in rows:
        true, rng = row["true_statement"], random.Random(row["true_statement"])
        again = true.replace(" 's", "'s").replace(" ,", ",").rstrip(" .")
        again = rng.choice((f"{again[:1].upper()}{again[1:]}.", f"According to the table, {again}.", f"{again}."))
        yield Labelled(true, again, "entailment", true)
        yield Labelled(true, row["false_statement"], "contradiction", true)


SETS: dict[str, tuple[Callable[[list[Row]], Iterator[Labelled]], int]] = {
    "paws_wiki_dev_test": (paws, 3), "relations_directed": (relations, 1), "gap_coreference": (gap, 1),
    "nli_syntactic_augmentation": (syntactic, 2), "nli_breaking": (breaking, 1),
    "entailment_bank": (entailment_bank, 1), "tabfact_minimal_pairs": (tabfact, 1),
}  # fmt: skip
"""File → how it is recast, and how often each of its pairs is seen in a pass."""


def is_trained(key: str) -> bool:
    """Whether a text is in the three quarters that are trained on."""
    return hashlib.blake2b(key.encode(), digest_size=1).digest()[0] % 4 != 0


def recast(folder: Path, name: str) -> list[Labelled]:
    """All pairs of a set outside its test split."""
    return list(SETS[name][0](pq.read_table(folder / f"{name}.parquet").to_pylist()))


def read(folder: Path, tests: Path) -> dict[str, list[str]]:
    """The pairs to train on, with the columns of :func:`.nli.read`; premises of the NLI tests are left out."""
    tested = set(pq.read_table(tests, columns=["premise"])["premise"].to_pylist())
    found: dict[str, list[str]] = {n: [] for n in ("premise", "hypothesis", "label", "source", "tier")}
    for name, (_, times) in SETS.items():
        for pair in recast(folder, name):
            if is_trained(pair.key) and pair.premise not in tested:
                for column, value in zip(found.values(), (*pair[:3], name, "human"), strict=True):
                    column += [value] * times
    return found
