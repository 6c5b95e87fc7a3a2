"""``scorer check``: score one row and explain it, or open an interactive console."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..scoring.settings import Settings
from .common import note_of, open_scorer, print_json, say, warn_of_documents
from .settings import takes_settings

if TYPE_CHECKING:
    from ..metric.facts import Triple
    from ..scoring.scorer import Scorer

EXAMPLE_TRIPLES = "Blue Spice | eatType | pub ++ Blue Spice | area | riverside"
EXAMPLE_TEXT = "Blue Spice is a pub in the riverside area."
HELP = """\
triples> takes subject | predicate | object, several separated by ++, or a JSON array of triples.
text> takes the text to check against them. A blank line asks again; --text '' scores an empty text.
Each check shows the probabilities of contradiction (C), neutral (N) and entailment (E).
quit, Ctrl-D or Ctrl-C ends the console."""


@takes_settings(bundle="embedded", columns=False)
def check_command(
    triples: Annotated[
        str | None,
        typer.Option(
            "--triples",
            metavar='"S | P | O ++ S | P | O"',
            help="Triples of the row, separated by ++; exits 2 if one is malformed.",
        ),
    ] = None,
    fact: Annotated[
        list[str] | None,
        typer.Option("--fact", metavar="F", help="Fact as a sentence, instead of --triples. Repeatable."),
    ] = None,
    document: Annotated[
        list[str] | None,
        typer.Option(
            "--document", metavar="D", help="Source text, whose sentences are the facts. Repeatable: each is a passage."
        ),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="T", help="Text of the row.")] = None,
    *,
    settings: Settings,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Score one row and explain the result.

    Print the label, the omitted facts, and the contradiction (C), neutral (N) and entailment (E) probabilities of every
    check; with a document, those of each sentence. Without facts and text, open an interactive console.
    """
    from ..metric.sentences import split_document
    from .console.verdict import print_verdict

    sources = {"--triples": triples is not None, "--fact": bool(fact), "--document": bool(document)}
    given = [option for option, there in sources.items() if there]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be combined; pass one of them")
    if bool(given) != (text is not None):
        raise UsageError("pass both --triples (or --fact, or --document) and --text, or neither to open the console")
    if any(not one.strip() for one in fact or ()):
        raise UsageError("--fact is blank; write a sentence")
    row = _parse(triples) if triples is not None else None
    if document:
        settings = replace(settings, columns=replace(settings.columns, document="document"))
        warn_of_documents(settings)
        fact = [sentence for passage in document for sentence in split_document(passage)]
    with open_scorer(settings) as scorer:
        if note := note_of(settings):
            say(f"note: {note}")
        if not given:
            _console(scorer)
            return
        verdict = scorer.score_facts(fact, text) if fact else scorer.score(row or [], text)
    if as_json:
        print_json({**dataclasses.asdict(verdict), "signature": scorer.signature})
    else:
        print_verdict(verdict)


def _parse(triples: str) -> list[Triple]:
    from ..metric.formats import parse_triples
    from ..metric.inputs import explain_malformed

    if found := parse_triples(triples):
        return found
    why = explain_malformed(triples, "triples") or "there is no triple"
    raise UsageError(f"{why}; write subject | predicate | object, and separate triples by ++")


def _console(scorer: Scorer) -> None:
    """Show an example, then ask for triples and a text in turn. ``quit``, Ctrl-D and Ctrl-C end it."""
    import contextlib

    from .console.verdict import print_verdict

    with contextlib.suppress(ImportError):  # line editing and history, if Python was built with it
        import readline  # noqa: F401  (importing it enables it)

    say("Example:")
    say(f"triples> {EXAMPLE_TRIPLES}")
    say(f"text> {EXAMPLE_TEXT}")
    print_verdict(scorer.score(_parse(EXAMPLE_TRIPLES), EXAMPLE_TEXT))
    say("Enter your own row; `help` explains, `quit` ends.")
    while True:
        try:
            triples = _asked("triples> ")
            row = _parse(triples)
            print_verdict(scorer.score(row, _asked("text> ")))
        except UsageError as error:
            say(str(error))
        except (EOFError, KeyboardInterrupt):
            say("")
            return


def _asked(prompt: str) -> str:
    """A line that is neither blank nor a command.

    Raises:
        EOFError: the user ends the console.
    """
    while True:
        line = input(prompt).strip()
        if line.lower() in ("quit", "exit"):
            raise EOFError
        if line.lower() in ("help", "?"):
            say(HELP)
        elif line:
            return line
