"""Pair inputs with texts that are in the same file, or in files with one text per line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..errors import InputError
from .lines import NUL, UNREADABLE, Lines, display, read_lines
from .problems import Problems
from .rows import Input, Rows, Text
from .sources import Source

# The references for a text of an input; the text is passed if it is in the file of the input and may be one of them.
References = Callable[[Input, "Text | None"], "list[str] | None"]


def add_own_texts(rows: Rows, inputs: Iterable[Input], system: str, references: References) -> None:
    """A row for every text in the file of its input. ``system``: the system of texts that name none."""
    for source in inputs:
        for text in source.texts:
            rows.add(
                source,
                text.text,
                system=text.system or system,
                file=source.file,
                line=text.line,
                references=references(source, text),
                extra=text.extra,
            )


def add_text_files(
    rows: Rows,
    choices: Sequence[Sequence[Input]],
    where: str,
    systems: Sequence[Source],
    references: References,
    problems: Problems,
    empty: Sequence[str],
) -> None:
    """A row for every line of every text file, with the input of the same position.

    ``choices``: possible lists of inputs (all of them, or each distinct one once); the number of lines decides.

    Raises:
        InputError: a file has another number of lines than there are inputs.
    """
    for system in systems:
        lines = read_lines(system.path)
        inputs = next((choice for choice in choices if len(choice) == len(lines.text)), None)
        if inputs is None:
            counts = " or ".join(f"{n:,}" for n in dict.fromkeys(len(choice) for choice in choices))
            raise InputError(
                f"{display(system.path)} has {len(lines.text):,} lines, but {where} has {counts} inputs; "
                "it must have one line for every input, a blank one if the system wrote nothing"
            )
        rows.inputs = max(rows.inputs, len(inputs))
        for number, source in enumerate(inputs):
            text = _text(lines, number, system, problems)
            rows.add(
                source,
                "" if text is not None and text in empty else text,
                system=system.name,
                file=system.file,
                line=number + 1,
                references=references(source, None),
            )


def by_key(known: Mapping[object, list[str]], rows: Rows) -> References:
    """Look up references by input; inputs without references get an empty list and are counted."""
    missing: set[object] = set()

    def look_up(source: Input, text: Text | None) -> list[str]:
        found = known.get(source.key)
        if found is None:
            missing.add(source.key)
            rows.unreferenced = len(missing)
        return found or []

    return look_up


def own_texts(source: Input, text: Text | None) -> list[str]:
    """The other texts of an input in its file, as references."""
    return source.references(without=text)


def no_references(source: Input, text: Text | None) -> None:
    """No references, and no column of them."""


def _text(lines: Lines, number: int, system: Source, problems: Problems) -> str | None:
    text = lines.text[number].strip()
    if number not in lines.broken:
        return text
    problems.add(display(system.path), number + 1, lines.broken[number], text)
    return None if UNREADABLE in text or NUL in text else text
