"""Files of the WebNLG challenges: XML of inputs with lexicalisations, and CSV of the human evaluation of 2017.

Gardent et al. 2017; Castro Ferreira et al. 2020. Underscores and quotes in triples are kept; the templates handle them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import InputError, UsageError
from ..metric.facts import Triple
from ..metric.formats import parse_triple
from .lines import display, read_bytes
from .pairing import References, add_own_texts, add_text_files, no_references, own_texts
from .problems import Problems, shorten
from .rows import Input, Rows
from .sheets import Form, Sheet
from .sources import Source, expand_folders, parse_source, parse_systems
from .webnlg_xml import is_xml, read_xml

REFERENCE = "reference"
RATINGS = ("semantics", "grammar", "fluency")
"""Columns of ratings in the CSV of the human evaluation of 2017; a row has their means."""
OK_FROM = 2.5
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def convert_webnlg(
    inputs: Sequence[str],
    problems: Problems,
    *,
    texts: Sequence[str] = (),
    mr_column: str | None = None,
    text_column: str | None = None,
    empty: Sequence[str] = (),
    lang: str | None = None,
) -> Rows:
    """Rows from WebNLG files or folders of XML, each given as ``PATH`` or ``NAME=PATH``.

    With ``texts`` (files with one text per line), a row is an input with a line of a file; the inputs of several files
    are concatenated in the order given. Without, a row is an input with a text of its own file: each lexicalisation
    (system ``reference``), or the text column of a CSV (system: from its column, otherwise the file's name).

    Ratings of a CSV (:data:`RATINGS`) are also columns ``human_…``, and those of semantics give ``gold_rough``.

    Args:
        empty: texts that mean that there is no text (``null``).
        lang: leave out lexicalisations that are marked with another language.

    Raises:
        ScorerError: a file that cannot be read or used; with ``strict``, the first malformed line.
    """
    form = Form(read_triples, False, False, mr_column, text_column, tuple(empty))
    sources = expand_folders([parse_source(argument) for argument in inputs], ".xml")
    rows = Rows()
    if texts:
        items: list[Input] = []
        for source in sources:
            items += read_xml(source, problems, lang) if _xml(source) else Sheet(source, form, problems).inputs()
        where = display(sources[0].path) if len(sources) == 1 else f"{len(sources)} files together"
        systems = parse_systems(texts)
        found: References = own_texts if any(item.texts for item in items) else no_references
        add_text_files(rows, [items], where, systems, found, problems, form.empty)
        return rows
    for source in sources:
        if _xml(source):
            _add_lexicalisations(rows, source, problems, lang)
        else:
            _add_sheet(rows, source, form, problems)
    for name in RATINGS:
        rows.derive(f"human_{name}", (name,), lambda rating: rating)
    rows.derive("gold_rough", ("semantics",), rated_label)
    return rows


def rated_label(semantics: str) -> str | None:
    """The ROUGH label of a text from its mean rating of semantics (1 to 3), as Dušek & Kasner (2020) have it."""
    try:
        return "OK" if float(semantics) >= OK_FROM else "not_OK"
    except ValueError:
        return None


def read_triples(mr: str) -> list[Triple] | str:
    """The triples of ``s | p | o<br>s | p | o``, or a description of its error."""
    if not mr.strip():
        return "an input without triples"
    triples = []
    for part in _BREAK.split(mr):
        if not part.strip():
            continue
        triple = parse_triple(part)
        if triple is None:
            return f"{shorten(part.strip())} is not a triple like subject | predicate | object"
        triples.append(triple)
    return triples


def _xml(source: Source) -> bool:
    return is_xml(read_bytes(source.path)[:100])


def _add_lexicalisations(rows: Rows, source: Source, problems: Problems, lang: str | None) -> None:
    entries = read_xml(source, problems, lang)
    if not any(entry.texts for entry in entries):
        kind = f" in the language {lang!r}" if lang is not None else ""
        raise InputError(
            f"{display(source.path)} has no lexicalisations{kind}; pass the texts of a system with --texts NAME=FILE"
        )
    rows.inputs += len(entries)
    add_own_texts(rows, entries, source.name if source.named else REFERENCE, own_texts)


def _add_sheet(rows: Rows, source: Source, form: Form, problems: Problems) -> None:
    sheet = Sheet(source, form, problems)
    if not sheet.has_text:
        raise UsageError(
            f"{display(source.path)} has no column of texts (its columns: {sheet.column_names}); "
            "name it with --text-column, or pass the texts with --texts NAME=FILE"
        )
    seen: set[object] = set()
    for item in sheet.inputs():
        seen.add(item.key)
        add_own_texts(rows, [item], source.name, no_references)
    rows.inputs += len(seen)
