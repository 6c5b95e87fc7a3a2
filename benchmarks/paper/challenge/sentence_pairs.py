"""Sentence pairs from public sets about who did what to whom: paraphrases, exchanged arguments, relations, pronouns.

Each set is a Parquet file of one folder. The pairs of its *test* part are judged by :mod:`.natural`; the others may be
trained on. PAWS and GAP have a test split of their own; of the other sets, a hash of the text decides.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

WORDINGS: dict[str, list[str]] = json.loads(Path(__file__).with_name("relations.json").read_text(encoding="utf-8"))
"""Relation → sentences with ``{h}`` (its head) and ``{t}`` (its tail)."""
SYMMETRIC = frozenset({"P26", "P2094"})
POSSESSIVE = frozenset({"his", "her", "hers"})
Row = dict[str, Any]


class SentencePair(NamedTuple):
    """``label``: ``entailment`` or another one. ``key``: the text that decides the part. ``test``: whether it is in the
    set's test split, for the sets that have one. ``kind``: what is changed."""

    premise: str
    hypothesis: str
    label: str
    key: str
    test: bool = False
    kind: str = ""


def is_trained(key: str) -> bool:
    """Whether a text is in the three quarters that may be trained on."""
    return hashlib.blake2b(key.encode(), digest_size=1).digest()[0] % 4 != 0


def entailed(yes: bool) -> str:
    return "entailment" if yes else "not_entailment"


def paws(rows: list[Row]) -> Iterator[SentencePair]:
    """Paraphrases, both ways; where they are none, neither sentence is taken to entail the other. A row that shares a
    sentence with the test split is left out of the others."""
    tested = {row[side] for row in rows for side in ("sentence1", "sentence2") if row["split"] == "test"}
    for row in rows:
        one, other, test = row["sentence1"], row["sentence2"], row["split"] == "test"
        label = entailed(row["paraphrase"])
        if test or not {one, other} & tested:
            yield SentencePair(one, other, label, one, test)
            yield SentencePair(other, one, label, one, test)


def relations(rows: list[Row]) -> Iterator[SentencePair]:
    """A directed relation stated of a sentence, in the right order and exchanged; also with its names exchanged."""
    for row in rows:
        rng, relation = random.Random(row["text"]), row["relation"]
        wording = rng.choice(WORDINGS[relation if row["head_id"] else row["name"]])
        ends = (row["head"], row["tail"])
        if relation.endswith("(e2,e1)"):  # SemEval names the pair in the order of the text
            ends = ends[::-1]
        key, premise, first = f"{relation}/{row['text']}", row["text"], ends
        if rng.random() < 0.5 and (swapped := _exchanged(row["text"], *ends)):
            premise, first = swapped, ends[::-1]
        yield SentencePair(premise, _stated(wording, *first), "entailment", key)
        if relation not in SYMMETRIC:
            yield SentencePair(premise, _stated(wording, *reversed(first)), "not_entailment", key)


def gap(rows: list[Row]) -> Iterator[SentencePair]:
    """The sentence of a pronoun, with each of two names in its place."""
    for row in rows:
        for side in ("a", "b"):
            label, test = entailed(row[f"{side}_coref"]), row["split"] == "test"
            yield SentencePair(row["text"], resolved(row, side), label, row["text"], test)


def syntactic(rows: list[Row]) -> Iterator[SentencePair]:
    """Subject and object exchanged (kind ``inv``), and passives, right and wrong (``pass``)."""
    for row in rows:
        kind = row["kind"].partition("_")[0]
        yield SentencePair(row["premise"], row["hypothesis"], row["label"], row["premise"], kind=kind)


def resolved(row: Row, side: str) -> str:
    """The sentence with the pronoun, and the name of ``side`` (a or b) in the pronoun's place."""
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


def _stated(wording: str, head: str, tail: str) -> str:
    made = wording.replace("{h}", "\0").replace("{t}", tail).replace("\0", head)
    return made[0].upper() + made[1:]


def _exchanged(text: str, one: str, other: str) -> str | None:
    """The text with two names in each other's place; None unless each stands in it once and apart."""
    if text.count(one) != 1 or text.count(other) != 1 or one in other or other in one:
        return None
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


SETS: dict[str, Callable[[list[Row]], Iterator[SentencePair]]] = {
    "paws_wiki_dev_test": paws,
    "nli_syntactic_augmentation": syntactic,
    "relations_directed": relations,
    "gap_coreference": gap,
}
"""File → how its rows are recast."""
WITH_SPLIT = frozenset({"paws_wiki_dev_test", "gap_coreference"})
"""Sets with a test split of their own."""


def held_out_pairs(name: str, rows: list[Row]) -> list[SentencePair]:
    return [pair for pair in SETS[name](rows) if (pair.test if name in WITH_SPLIT else not is_trained(pair.key))]
