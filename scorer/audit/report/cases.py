"""The worst rows of each kind: the text, what is wrong with it, and the probability of each fact.

All of them are in the page; the script filters, sorts and searches them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ..document import Document, FactShown, WorstRow
from . import numbers
from .labels import group_inline
from .limits import Limits, clip, clip_plain
from .views import Code, GroupInLine, Line, Shown, Text

_ORDERS = (
    ("position up", "Worst first"),
    ("confidence up", "Confidence, lowest first"),
    ("confidence down", "Confidence, highest first"),
    ("omitted down", "Omitted facts, most first"),
    ("file up", "File and row"),
)
_LONGEST = 400
"""Characters of the names in a command that is worth copying."""
_TAGS = {"omission": "omission", "hallucination": "hallucination", "omission+hallucination": "both"}


@dataclass(frozen=True)
class Fact:
    """A fact of a row: its triple, the sentence given to the model if it is known, and the result."""

    state: str
    omitted: bool
    triple: Text
    sentence: Text | None
    probability: str


@dataclass(frozen=True)
class Case:
    """A row. ``kind_plain``, ``where_plain``, ``sorted_confidence``: what the script filters and sorts by."""

    kind: Text
    kind_plain: str
    colour: str
    where: Text
    where_plain: str
    group: GroupInLine | None
    confidence: str
    sorted_confidence: str
    key: str
    text: Text | None
    text_was_cut: bool
    """The document holds only a part of the text."""
    no_text: str
    why: Line
    omitted: int
    facts: tuple[Fact, ...]
    facts_left_out: str
    command: str
    """The command that explains the row; empty where a name in it is too long, or not plain text."""
    lost: tuple[Text, ...]
    """The facts that are omitted, in words, shown before the row is opened."""


@dataclass(frozen=True)
class WorstRows:
    """Rows, and the kinds and orders that they can be looked at by, as (value, words or number)."""

    most: int
    kinds: tuple[tuple[str, int], ...]
    kinds_left_out: str
    orders: tuple[tuple[str, str], ...]
    out: str
    cases: tuple[Case, ...]


def worst_rows(document: Document, limits: Limits) -> WorstRows | None:
    """The section's content, or ``None`` where no row is worth showing."""
    chosen: list[WorstRow] = []
    kinds: dict[str, int] = {}
    left_out: set[str] = set()
    for row in document["worst"]:
        kind = row["kind"]
        if kind not in kinds and len(kinds) == limits.kinds:
            left_out.add(kind)
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= limits.cases:
            chosen.append(row)
    if not chosen:
        return None
    return WorstRows(
        limits.cases,
        tuple((clip_plain(kind, limits.name), min(found, limits.cases)) for kind, found in kinds.items()),
        numbers.plural(len(left_out), "further kind") if left_out else "",
        _ORDERS,
        clip_plain(document["out"], limits.name),
        tuple(_case(row, document["out"], limits) for row in chosen),
    )


def colour_of(kind: str) -> str:
    """The class of a kind's tag in the style sheet."""
    return _TAGS.get(kind, "error")


def _case(row: WorstRow, out: str, limits: Limits) -> Case:
    kind, facts, confidence, text = row["kind"], row["facts"] or [], row["confidence"], row["text"]
    where = f"{clip_plain(row['file'], limits.name)}:{row['row']}"
    shown, left_out = _facts(facts, limits)
    return Case(
        command=_command(out, f"{row['file']}:{row['row']}"),
        kind=clip(kind, limits.name),
        kind_plain=clip_plain(kind, limits.name),
        colour=colour_of(kind),
        where=clip(where, limits.name + 20),
        where_plain=where,
        group=group_inline(row["group"], limits) if row["group"] else None,
        confidence=numbers.probability(confidence) if confidence is not None else "",
        sorted_confidence=numbers.sortable(confidence),
        key=row["row_key"][:40],
        text=clip(text, limits.text) if text is not None and text.strip() else None,
        text_was_cut=row["clipped"] and text is not None and len(text) <= limits.text,
        no_text="The text is null." if text is None else "The text is blank.",
        why=_why(row, limits),
        omitted=sum(fact["omitted"] for fact in facts),
        facts=shown,
        facts_left_out=left_out,
        lost=tuple(fact.sentence or fact.triple for fact in shown if fact.omitted),
    )


def _why(row: WorstRow, limits: Limits) -> Line:
    """The reason for the label, in words."""
    kind, facts, entailment = row["kind"], row["facts"], row["text_entailment"]
    if row["error"] is not None:
        return ("No label: ", Code(clip(row["error"], limits.name)), ".")
    if row["note"] == "empty_text":
        return ("A blank text says none of the facts, so all of them are omitted; the model was not run.",)
    said: list[Shown] = []
    omitted = sum(fact["omitted"] for fact in facts or ())
    if "omission" in kind and facts is None:
        said.append("The text omits facts; the output does not record which. ")
    elif "omission" in kind:
        of = f"{numbers.count(omitted)} of {numbers.plural(len(facts or ()), 'fact')}"
        said.append(f"The text omits {of}. " if omitted else "All facts together do not follow from the text. ")
    if entailment is not None:
        more = (
            "The text says more than the facts: they entail it"
            if "hallucination" in kind
            else "The facts entail the text"
        )
        said.append(f"{more} with probability {numbers.probability(entailment)}. ")
    if row["note"] is not None:
        said += ["Note: ", Code(clip(row["note"], limits.name)), "."]
    return tuple(said)


def _command(out: str, where: str) -> str:
    if len(out) + len(where) > _LONGEST or not (out + where).isprintable() or "\ufffd" in out + where:
        return ""
    return f"scorer explain {shlex.quote(out)} --row {shlex.quote(where)}"


def _facts(facts: Sequence[FactShown], limits: Limits) -> tuple[tuple[Fact, ...], str]:
    """The facts in their order, and how many more there are. With too many of them the omitted ones are kept first."""
    kept = sorted(range(len(facts)), key=lambda i: not facts[i]["omitted"])[: limits.facts]
    rest = len(facts) - len(kept)
    return tuple(_fact(facts[i], limits) for i in sorted(kept)), numbers.plural(rest, "more fact") if rest else ""


def _triple(fact: FactShown) -> str:
    """A fact in the notation of a triple; one that was given as a sentence as it is."""
    return f"{fact['subject']} | {fact['predicate']} | {fact['object']}" if fact["subject"] else fact["predicate"]


def _fact(fact: FactShown, limits: Limits) -> Fact:
    omitted, probability, sentence = fact["omitted"], fact["entailment"], fact["sentence"]
    return Fact(
        "omitted" if omitted else "said" if probability is not None else "not checked",
        omitted,
        clip(_triple(fact), limits.name),
        # A fact that was given as a sentence is shown once.
        None if sentence is None or not fact["subject"] else clip(sentence, limits.name),
        numbers.probability(probability) if probability is not None else "",
    )
