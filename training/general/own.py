"""Pairs from rows of people's own tables, whose texts are labelled fact by fact.

A file is JSON Lines. A row is a text of an input: ``id``, ``domain``, ``subject``, ``facts``, ``text``, ``omitted``
(keys that the text does not entail), ``contradicted`` (those of them that it says wrongly), ``added`` (words without a
fact). A line with ``kind: sentences`` words the facts of an input as its owner would, with the keys of each sentence.
Domains of ``own_held_out.txt`` are never trained on: a table's rows resemble each other.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.metric.attributes import parse_attributes
from scorer.metric.fact_templates import Templates
from scorer.metric.facts import Triple
from training.general.rows import exchange, find_once, is_boolean, negated, shape

HELD_OUT = frozenset(Path(__file__).with_name("own_held_out.txt").read_text(encoding="utf-8").splitlines())
TITLED = 0.3
"""Share of the texts before which their subject stands, as a title does."""
ENTAILED = "entailment"
_BACKOFF = Templates()
Labelled = tuple[str, str, str]
"""Premise, hypothesis, label."""


@dataclass(frozen=True)
class OwnText:
    """A text about the facts of an input.

    Attributes:
        facts: triples of each key, as the metric reads them.
        sentences: facts in the owner's words, with the keys that each says.
        wrong, left_out: keys of facts that the text says wrongly, and that it does not say.
        added: whether it says what no fact says.
    """

    input: str
    domain: str
    text: str
    subject: str
    facts: dict[str, list[Triple]]
    sentences: list[tuple[str, list[str]]]
    wrong: frozenset[str]
    left_out: frozenset[str]
    added: bool

    def label(self, keys: list[str]) -> str:
        """The label of text → the facts of these keys."""
        if self.wrong.intersection(keys):
            return "contradiction"
        return "neutral" if self.left_out.intersection(keys) else ENTAILED


def read(folder: Path) -> list[OwnText]:
    """The texts of all files of a folder, in the order of their names."""
    files = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl"))]
    lines = [json.loads(line) for file in files for line in file.strip().split("\n")]
    worded = {line["id"]: line["sentences"] for line in lines if line.get("kind") == "sentences"}
    return [_text(line, worded.get(line["id"], [])) for line in lines if line.get("kind") != "sentences"]


def _text(row: dict[str, Any], sentences: list[dict[str, Any]]) -> OwnText:
    wrong = frozenset(row["contradicted"])
    return OwnText(
        input=row["id"],
        domain=row["domain"],
        text=row["text"],
        subject=row["subject"],
        facts={key: _triples(row["subject"], key, value) for key, value in row["facts"].items()},
        sentences=[(sentence["text"], sentence["keys"]) for sentence in sentences],
        wrong=wrong,
        left_out=frozenset(row["omitted"]) - wrong,
        added=bool(row["added"]),
    )


def _triples(subject: str, key: str, value: Any) -> list[Triple]:
    return parse_attributes({key: value}, subject)[0]


def parts(texts: list[OwnText]) -> tuple[list[OwnText], list[OwnText]]:
    """Texts to train on, and those of held-out domains."""
    return [t for t in texts if t.domain not in HELD_OUT], [t for t in texts if t.domain in HELD_OUT]


def pairs(texts: list[OwnText], rng: random.Random) -> dict[str, list[str]]:
    """Pairs as :func:`.nli.read` gives them: each false one follows a true one with the same words on one side."""
    by_input: dict[str, list[OwnText]] = defaultdict(list)
    for text in texts:
        by_input[text.input].append(text)
    labelled: list[Labelled] = []
    for text in texts:
        others = [other for other in by_input[text.input] if other is not text]
        shown = f"{text.subject}: {text.text}" if rng.random() < TITLED else text.text
        labelled += [
            *_unsaid(text, shown, others, rng),
            *exchanged(text, shown, rng),
            *_to_text(text, shown, others, rng),
        ]
    premise, hypothesis, label = map(list, zip(*labelled, strict=True))
    return {
        "premise": premise, "hypothesis": hypothesis, "label": label,
        "source": ["own"] * len(label), "tier": ["own"] * len(label),
    }  # fmt: skip


def _wordings(text: OwnText) -> Iterator[tuple[str, list[str]]]:
    """The facts of an input in backoff wording and in its owner's, with their keys."""
    for key, triples in text.facts.items():
        yield from ((_BACKOFF.fill(triple).text, [key]) for triple in triples)
    yield from text.sentences


def _unsaid(text: OwnText, shown: str, others: list[OwnText], rng: random.Random) -> Iterator[Labelled]:
    """Text → a fact that it does not say, after another text of the input that says it."""
    for fact, keys in _wordings(text):
        saying = [other for other in others if other.label(keys) == ENTAILED]
        if text.label(keys) != ENTAILED and saying:
            yield rng.choice(saying).text, fact, ENTAILED
            yield shown, fact, text.label(keys)


def exchanged(text: OwnText, shown: str, rng: random.Random) -> Iterator[Labelled]:
    """Text → a fact with the value of another one of the row and kind, after that other one with its own value; the
    same in the owner's words; a truth value and its opposite."""
    single = {key: triples[0] for key, triples in text.facts.items() if len(triples) == 1}
    said = {key: triple for key, triple in single.items() if text.label([key]) == ENTAILED}
    for key, triple in said.items():
        if is_boolean(triple.object):
            yield shown, _BACKOFF.fill(triple).text, ENTAILED
            yield shown, _BACKOFF.fill(triple._replace(object=negated(triple.object))).text, "contradiction"
            continue
        alike = [other for other in said.values() if _of_one_kind(triple.object, other.object)]
        if not alike:
            continue
        other = rng.choice(alike)
        yield shown, _BACKOFF.fill(other).text, ENTAILED
        yield shown, _BACKOFF.fill(triple._replace(object=other.object)).text, "contradiction"
        for sentence, keys in text.sentences:
            if keys == [key] and find_once(sentence, triple.object) >= 0:
                yield shown, sentence, ENTAILED
                yield shown, exchange(sentence, triple.object, other.object), "contradiction"


def _of_one_kind(value: str, other: str) -> bool:
    return shape(value) == shape(other) and value.lower() != other.lower() and not is_boolean(other)


def _to_text(text: OwnText, shown: str, others: list[OwnText], rng: random.Random) -> Iterator[Labelled]:
    """Facts → text, in both wordings: all facts, and all but one that the text says; of a wrong text, all facts after
    those with a text of the input that they support."""
    label = "contradiction" if text.wrong else "neutral" if text.added else ENTAILED
    backoff = [
        (" ".join(_BACKOFF.fill(triple).text for triple in triples), [key]) for key, triples in text.facts.items()
    ]
    supported = [other for other in others if not other.wrong and not other.added]
    for sentences in (backoff, text.sentences):
        whole = " ".join(sentence for sentence, _ in sentences)
        said = [i for i, (_, keys) in enumerate(sentences) if text.label(keys) == ENTAILED]
        if label == ENTAILED and len(said) > 1:
            dropped = rng.choice(said)
            yield whole, shown, ENTAILED
            yield " ".join(s for i, (s, _) in enumerate(sentences) if i != dropped), shown, "not_entailment"
        elif label != ENTAILED and sentences and supported:
            yield whole, rng.choice(supported).text, ENTAILED
            yield whole, shown, label
