"""``scorer check`` scores one row and explains it; ``scorer explain`` does so for a row of an output."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..inference import Precision
from ..metric import Reading
from ..system.arguments import option
from ..system.numbers import parse_json
from .console import MISSING, number, print_json, print_result, say, table
from .options import BUNDLE, JSON, ColumnOptions, ModelOptions, OutputArgument, open_scorer, say_bundle_notes

if TYPE_CHECKING:
    from rich.console import Console

    from ..metric.facts import Triple
    from ..run.explain import Explanation
    from ..scoring.results import Verdict
    from ..scoring.scorer import Scorer

EXAMPLE_TRIPLES = "Blue Spice | eatType | pub ++ Blue Spice | area | riverside"
EXAMPLE_TEXT = "Blue Spice is a pub in the riverside area."
HELP = """\
triples> takes subject | predicate | object, several separated by ++, or a JSON array of triples.
text> takes the text to check against them. A blank line asks again; --text '' scores an empty text.
Each check shows the probabilities of contradiction (C), neutral (N) and entailment (E).
quit, Ctrl-D or Ctrl-C ends the console."""

OMITTED = "omitted: not found in the text: left out, or said with another value"
"""Meaning of ``(omitted)`` after a fact; a fact that is ``(contradicted)`` has its own mark."""


_NAMES = {"omission": "text → {}", "hallucination": "facts → text", "all_facts": "text → all facts",
          "sentence": "facts → sentence"}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CheckModelOptions(ModelOptions):
    """The options of a scorer, of the embedded model by default."""

    bundle: str = option(**BUNDLE, default="embedded")


def check_command(
    *,
    triples: str | None = option(
        "Triples of the row, separated by ++; exits 2 if one is malformed.", '"S | P | O ++ S | P | O"', None
    ),
    fact: tuple[str, ...] = option("Fact as a sentence, instead of --triples. Repeatable.", "F", ()),
    attributes: str | None = option(
        "Attributes of the row as a JSON object, instead of --triples; its name is the subject.", "JSON", None
    ),
    document: tuple[str, ...] = option(
        "Source text, whose sentences are the facts. Repeatable: each is a passage.", "D", ()
    ),
    text: str | None = option("Text of the row.", "T", None),
    model: CheckModelOptions,
    as_json: bool = JSON,
) -> None:
    """Score one row and explain the result.

    Print the label, the omitted facts, and the contradiction (C), neutral (N) and entailment (E) probabilities of every
    check; with a document, those of each sentence. Without facts and text, open an interactive console.
    """
    from ..metric.sentences import split_document

    facts = list(fact)
    sources = {
        "--triples": triples is not None,
        "--fact": bool(facts),
        "--attributes": attributes is not None,
        "--document": bool(document),
    }
    facts_options = [name for name, is_given in sources.items() if is_given]
    if len(facts_options) > 1:
        raise UsageError(f"{' and '.join(facts_options)} cannot be combined; pass one of them")
    if bool(facts_options) != (text is not None):
        raise UsageError(
            "pass both --triples (or --fact, --attributes, --document) and --text, or neither to open the console"
        )
    if any(not sentence.strip() for sentence in facts):
        raise UsageError("--fact is blank; write a sentence")
    parsed = _parse(triples) if triples is not None else []
    pairs = _parse_attributes(attributes) if attributes is not None else None
    settings = model.settings(ColumnOptions())
    if document:
        settings = replace(settings, columns=replace(settings.columns, document="document"))
        facts = [sentence for passage in document for sentence in split_document(passage)]
    with open_scorer(settings) as scorer:
        say_bundle_notes(settings)
        if not facts_options:
            _console(scorer)
            return
        if pairs is not None:
            verdict = scorer.score_attributes(pairs, text)
        else:
            verdict = scorer.score_facts(facts, text) if facts else scorer.score(parsed, text)
    if as_json:
        print_json({**verdict.to_dict(), "signature": scorer.signature})
    else:
        print_result(verdict, False, partial(print_verdict, reading=settings.reading))


def explain_command(
    out: OutputArgument,
    row: str | None = option(
        "Output file below OUT, and row number from 0 (N alone where there is one file); exits 2 if there is no such "
        "row.",
        "FILE:N",
        None,
    ),
    key: str | None = option("Row with this hexadecimal row_key; exits 2 if there is none.", "HEX", None),
    precision: Precision | None = option(
        "Model variant; exits 2 if the bundle lacks it. Default: the run's.", default=None
    ),
    as_json: bool = JSON,
) -> None:
    """Recompute a scored row and compare it with the output, or say why a row has no label.

    Print the facts, the contradiction (C), neutral (N) and entailment (E) probabilities of every check, and the stored
    and the recomputed label. With the run's bundle, precision and kind of device, model calls have the size, layout and
    attention that the run recorded.
    """
    from ..run.explain import budgets_of_run, explain, find_row
    from ..scoring.outputs import Output

    output = Output.open(*out, allow_partial=True)
    settings, number = output.run_settings, find_row(output, row, key)
    plan = output.plan_of(number)
    if precision is not None:
        settings = replace(settings, precision=precision)
    with open_scorer(settings, budgets_of_run(plan, settings)) as scorer:
        explanation = explain(output, scorer, number)
    print_result(explanation, as_json, partial(print_explanation, reading=settings.reading))
    if not as_json and explanation.same_labels is False:
        say("note: the recomputed label differs from the stored one")
    if not as_json and explanation.signature != explanation.stored_signature:
        say(f"note: the row was stored under another signature: {explanation.stored_signature}")


def _parse(triples: str) -> list[Triple]:
    from ..metric.facts import FactError
    from ..metric.formats import parse_triples

    try:
        parsed, reason = parse_triples(triples), "there is no triple"
    except FactError as error:
        parsed, reason = [], str(error)
    if parsed:
        return parsed
    raise UsageError(f"{reason}; write subject | predicate | object, and separate triples by ++")


def _parse_attributes(attributes: str) -> dict[str, Any]:
    try:
        parsed, reason = parse_json(attributes), ""
    except ValueError as error:
        parsed, reason = None, f" ({error})"
    if not isinstance(parsed, dict):
        example = json.dumps({"name": "Blue Spice", "eatType": "pub"})
        raise UsageError(f"--attributes is not a JSON object{reason}; write an object such as '{example}'")
    return parsed


def _console(scorer: Scorer) -> None:
    """Show an example, then ask for triples and a text in turn. ``quit``, Ctrl-D and Ctrl-C end it."""
    import contextlib

    with contextlib.suppress(ImportError):  # line editing and history, if Python was built with it
        import readline  # noqa: F401  (importing it enables it)

    say("Example:")
    say(f"triples> {EXAMPLE_TRIPLES}")
    say(f"text> {EXAMPLE_TEXT}")
    show = partial(print_verdict, reading=scorer.settings.reading)
    print_result(scorer.score(_parse(EXAMPLE_TRIPLES), EXAMPLE_TEXT), False, show)
    say("Enter your own row; `help` explains, `quit` ends.")
    while True:
        try:
            row = _parse(_read_line("triples> "))
            print_result(scorer.score(row, _read_line("text> ")), False, show)
        except UsageError as error:
            say(str(error))
        except EOFError:
            say("")
            return


def _read_line(prompt: str) -> str:
    """A line that is neither blank nor a command; ``EOFError`` where the user ends the console."""
    while True:
        line = input(prompt).strip()
        if line.lower() in ("quit", "exit"):
            raise EOFError
        if line.lower() in ("help", "?"):
            say(HELP)
        elif line:
            return line


def print_verdict(console: Console, verdict: Verdict, reading: Reading = "verbatim") -> None:
    """Print the label, the text, the facts, and the probabilities of every check; a hypothesis that is not in the lines
    above, such as a sentence, has a column.

    Args:
        reading: the reading in which the text and the facts are shown.
    """
    from ..scoring.output_columns import worst_sentence
    from ..scoring.results import name_facts

    if verdict.error:
        console.print(f"error: {verdict.error}")
    else:
        console.print(f"{verdict.fine} ({verdict.rough}), confidence {number(verdict.confidence, 4)}")
    if verdict.note:
        console.print(f"note: {verdict.note}")
    texts = [check.premise if check.check == "omission" else check.hypothesis for check in verdict.checks
             if check.check in ("omission", "hallucination")][:1]  # fmt: skip
    for text in texts:
        console.print(f"text{' (plain reading)' if reading == 'plain' else ''}: {_shortened(text)}")
    asked_facts = {positions[0]: positions for positions in verdict.asked_facts()}
    for first, positions in asked_facts.items():
        mark = f" ({verdict.mark(first)})" if verdict.mark(first) else ""
        console.print(f"{name_facts(positions)}{mark}: {_shortened(verdict.facts[first])}")
    if verdict.checks and any(verdict.mark(first) == "omitted" for first in asked_facts):
        console.print(OMITTED)
    if (worst := worst_sentence(texts[0] if texts else None, verdict.sentences)) is not None:
        console.print(f"worst sentence: {_shortened(worst)}")
    if not verdict.checks:
        return
    texts_above = {*texts, *verdict.facts, " ".join(verdict.facts[first] for first in asked_facts)}
    hypotheses = ["" if check.hypothesis in texts_above else _shortened(check.hypothesis) for check in verdict.checks]
    further_columns = ("asked",) if any(hypotheses) else ()
    checks = table("check", "C", "N", "E", "result", "tokens", *further_columns, names=("result", *further_columns))
    for check, words in zip(verdict.checks, hypotheses, strict=True):
        probabilities = (number(value, 4) for value in (check.contradiction, check.neutral, check.entailment))
        result = "not checked" if check.passed is None else "passes" if check.passed else "fails"
        tokens = MISSING if check.tokens is None else f"{check.tokens:,}"
        about = "" if check.fact is None else name_facts(asked_facts[check.fact])
        checks.add_row(
            _NAMES[check.check].format(about), *probabilities, result, tokens, *([words] if further_columns else [])
        )
    console.print(checks)


def print_explanation(console: Console, explanation: Explanation, reading: Reading = "verbatim") -> None:
    """Print a stored row: the recomputed verdict, the stored one, and how far the two differ."""
    console.print(f"{explanation.file}:{explanation.row}  key {explanation.key}")
    stored = explanation.stored
    if explanation.recomputed is not None:
        print_verdict(console, explanation.recomputed, reading)
    if explanation.why is not None:
        console.print(f"the row {explanation.why}")
    if stored.get("fine") is not None:
        console.print(f"stored: {stored['fine']}, confidence {number(stored['confidence'], 4)}")
    elif stored.get("error") is not None:
        console.print(f"stored: error {stored['error']}")
    if explanation.difference is not None:
        bound = {True: "within the bound", False: "beyond the bound", None: "no bound is known"}[
            explanation.within_bound
        ]
        allowed = f" of {explanation.allowed:.2g}" if explanation.allowed is not None else ""
        console.print(
            f"largest difference of an entailment probability: {explanation.difference:.2g}, {bound}{allowed}"
        )


def _shortened(text: str) -> str:
    """A text that fits on a screen; the JSON has the whole text."""
    return text if len(text) <= 600 else f"{text[:400]} … ({len(text) - 500} characters) … {text[-100:]}"
