"""The worst rows of each kind: the text, what is wrong with it and by how much, fact by fact.

All of them stand in the page; the script hides, sorts and searches what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..document import Document, FactShown, WorstRow
from . import numbers
from .labels import group_inline
from .limits import Limits, clip, clip_plain
from .markup import Child, Html, element, join

_ORDERS = (
    ("position up", "Worst first"),
    ("confidence up", "Confidence, lowest first"),
    ("confidence down", "Confidence, highest first"),
    ("omitted down", "Omitted facts, most first"),
    ("file up", "File and row"),
)
_TAGS = {"omission": "omission", "hallucination": "hallucination", "omission+hallucination": "both"}


def worst_rows(document: Document, limits: Limits) -> Html | None:
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
    shown = {kind: min(found, limits.cases) for kind, found in kinds.items()}
    out = clip_plain(document["out"], limits.name)
    return join(
        element(
            "p",
            f"A sample: of each kind up to {limits.cases} rows, those of the least confidence first. ",
            f"{numbers.plural(len(left_out), 'further kind')} left out. " if left_out else None,
            "A row again, with every probability: ",
            element("code", f"scorer explain {out} --row FILE:N"),
            class_="say",
        ),
        _controls(shown, limits),
        element("p", id="found", class_="found", role="status"),
        element("ol", join(_case(row, i, limits) for i, row in enumerate(chosen)), class_="cases"),
    )


def _controls(kinds: Mapping[str, int], limits: Limits) -> Html:
    names = [(clip_plain(kind, limits.name), found) for kind, found in kinds.items()]
    return element(
        "div",
        element(
            "label",
            "Search texts, facts, files and keys",
            element("input", type="search", id="find", autocomplete="off", spellcheck="false"),
        ),
        element(
            "label",
            "Kind",
            element(
                "select",
                element("option", f"All kinds ({sum(kinds.values())})", value=""),
                join(element("option", f"{name} ({found})", value=name) for name, found in names),
                id="kind",
            ),
        ),
        element(
            "label",
            "Order",
            element("select", join(element("option", words, value=value) for value, words in _ORDERS), id="order"),
        ),
        class_="controls",
        role="search",
        aria_label="Worst rows",
    )


def _case(row: WorstRow, position: int, limits: Limits) -> Html:
    kind, facts, confidence = row["kind"], row["facts"] or [], row["confidence"]
    where = f"{clip_plain(row['file'], limits.name)}:{row['row']}"
    return element(
        "li",
        element(
            "header",
            element("span", clip(kind, limits.name), class_=f"tag {_TAGS.get(kind, 'error')}"),
            element("h3", clip(where, limits.name + 20)),
            element("span", group_inline(row["group"], limits)) if row["group"] else None,
            element("span", f"confidence {numbers.probability(confidence)}") if confidence is not None else None,
            element("code", row["row_key"][:40]),
        ),
        _text(row, limits),
        element("p", _why(row, limits), class_="why"),
        _facts(facts, limits),
        class_="case",
        data_kind=clip_plain(kind, limits.name),
        data_position=position,
        data_confidence=numbers.sortable(confidence),
        data_omitted=sum(fact["omitted"] for fact in facts),
        data_file=where,
    )


def _text(row: WorstRow, limits: Limits) -> Html:
    text = row["text"]
    if text is None or not text.strip():
        return element("p", "The text is null." if text is None else "The text is blank.", class_="empty")
    cut = element("span", " … cut", class_="clipped") if row["clipped"] and len(text) <= limits.text else None
    return element("blockquote", clip(text, limits.text), cut, dir="auto")


def _why(row: WorstRow, limits: Limits) -> Child:
    """In words: what the label rests on."""
    kind, facts, entailment = row["kind"], row["facts"], row["text_entailment"]
    if row["error"] is not None:
        return join("No label: ", element("code", clip(row["error"], limits.name)), ".")
    if row["note"] == "empty_text":
        return "A blank text says none of the facts, so all of them are omitted; the model was not asked."
    said: list[Child] = []
    omitted = sum(fact["omitted"] for fact in facts or ())
    if "omission" in kind and facts is None:
        said.append("The text leaves facts out; which ones, the output does not hold. ")
    elif "omission" in kind:
        of = f"{numbers.count(omitted)} of {numbers.plural(len(facts or ()), 'fact')}"
        said.append(f"The text does not say {of}. " if omitted else "All facts together do not follow from the text. ")
    if entailment is not None:
        more = (
            "The text says more than the facts: they entail it"
            if "hallucination" in kind
            else "The facts entail the text"
        )
        said.append(f"{more} with probability {numbers.probability(entailment)}. ")
    if row["note"] is not None:
        said += ["Note: ", element("code", clip(row["note"], limits.name)), "."]
    return join(*said)


def _facts(facts: Sequence[FactShown], limits: Limits) -> Html | None:
    """The facts in their order. With too many of them the omitted ones are kept first."""
    if not facts:
        return None
    kept = sorted(range(len(facts)), key=lambda i: not facts[i]["omitted"])[: limits.facts]
    items = [_fact(facts[i], limits) for i in sorted(kept)]
    rest = len(facts) - len(items)
    if rest:
        items.append(
            element("li", element("span"), element("span", f"{numbers.plural(rest, 'more fact')}", class_="quiet"))
        )
    return element("ul", *items, class_="facts", aria_label="Facts, each with the probability that the text says it")


def _fact(fact: FactShown, limits: Limits) -> Html:
    omitted, probability, sentence = fact["omitted"], fact["entailment"], fact["sentence"]
    state = "omitted" if omitted else "said" if probability is not None else "not checked"
    triple = clip(f"{fact['subject']} | {fact['predicate']} | {fact['object']}", limits.name)
    if sentence is None:
        what = element("span", triple, class_="sentence")
    else:
        shown = clip(sentence, limits.name)
        what = join(element("span", shown, class_="sentence"), element("span", triple, class_="triple"))
    return element(
        "li",
        element("span", state, class_="state"),
        element("span", what, class_="what"),
        element("span", numbers.probability(probability) if probability is not None else "", class_="p"),
        class_="omitted" if omitted else None,
    )
