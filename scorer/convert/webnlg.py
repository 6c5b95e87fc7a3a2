"""Files of the WebNLG challenges: XML of inputs with lexicalisations, and CSV of the human evaluation of 2017.

Gardent et al. 2017; Castro Ferreira et al. 2020. Underscores and quotes in triples are kept; the templates handle them.
XML (versions 1 to 3, and the enriched 1.5) is parsed with expat directly: it gives line numbers, and a document cannot
make it open files or use memory without limit. Documents that declare entities or refer to an external part are refused
before their content is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ..errors import InputError
from ..metric.facts import MALFORMED, FactError, Parsed, Triple, attempt
from ..metric.formats import parse_each, parse_triple
from ..storage.location import is_hidden
from . import ConvertOptions
from .rows import ConvertedRows, Input, Text
from .sheets import Form, read_sheet
from .source_files import Problems, SourceFile, parse_source, read_bytes

REFERENCE = "reference"
RATINGS = ("semantics", "grammar", "fluency")
"""Columns of ratings in the CSV of the human evaluation of 2017; a row has their means."""
OK_FROM = 2.5
ENTRY_ATTRIBUTES = ("eid", "category", "size", "shape", "shape_type")
LEX_ATTRIBUTES = ("lid", "comment", "lang")
BETWEEN_TRIPLES = "<br>"
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_XML_START = re.compile(rb"\s*(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<")


def convert_webnlg(
    inputs: Sequence[str], options: ConvertOptions, problems: Problems, *, lang: str | None = None
) -> ConvertedRows:
    """Rows from WebNLG files or folders of XML, each given as ``PATH`` or ``NAME=PATH``.

    With ``texts`` (files with one text per line), a row is an input with a line of a file; the inputs of several files
    are concatenated in the order given. Without, a row is an input with a text of its own file: each lexicalisation
    (system ``reference``), or the text column of a CSV (system: from its column, otherwise the file's name).

    Ratings of a CSV (:data:`RATINGS`) are also columns ``human_…``, and ratings of semantics give ``gold_rough``.

    Args:
        lang: leave out lexicalisations that are marked with another language.

    Raises:
        ScorerError: a file that cannot be read or used; with ``strict``, the first malformed line.
    """
    form = Form(read_triples, options)
    sources = [file for argument in inputs for file in _files(parse_source(argument))]
    rows = ConvertedRows()
    all_entries: list[Input] = []
    for source in sources:
        is_xml = _XML_START.match(read_bytes(source)[:100]) is not None
        entries = (
            read_xml(source, problems, lang)
            if is_xml
            else read_sheet(source, form, problems, needs_text=not options.texts)
        )
        all_entries += entries
        if options.texts:
            continue
        if is_xml and not any(entry.texts for entry in entries):
            kind = f" in the language {lang!r}" if lang is not None else ""
            raise InputError(
                f"{source.shown} has no lexicalisations{kind}; pass the texts of a system with --texts NAME=FILE"
            )
        rows.inputs += len(entries) if is_xml else len({entry.key for entry in entries})
        rows.add_own_texts(entries, source.name if source.named or not is_xml else REFERENCE)
    if options.texts:
        where = sources[0].shown if len(sources) == 1 else f"{len(sources)} files together"
        has_references = any(entry.texts for entry in all_entries)
        for entry in all_entries:
            entry.references = entry.texts if has_references else None
        rows.add_text_files([all_entries], where, options, problems)
    else:
        for name in RATINGS:
            rows.derive(f"human_{name}", (name,), str)
        rows.derive("gold_rough", ("semantics",), rated_label)
    return rows


def _files(source: SourceFile) -> Iterator[SourceFile]:
    """A file itself, or the XML files of a folder, at any depth, in the order of their paths; names that begin with
    ``_`` or ``.`` are skipped, as for Parquet inputs."""
    if not os.path.isdir(source.path):  # noqa: PTH112  (reading it reports a long name)
        yield source
        return
    paths = sorted(
        path
        for path in source.path.rglob("*.xml")
        if path.is_file() and not any(map(is_hidden, path.relative_to(source.path).parts))
    )
    if not paths:
        raise InputError(f"the folder {source.shown} has no .xml files")
    for path in paths:
        yield SourceFile(source.name if source.named else path.stem, path, source.named)


def rated_label(semantics: str) -> str | None:
    """The ROUGH label of a text from its mean rating of semantics."""
    try:
        return "OK" if float(semantics) >= OK_FROM else "not_OK"
    except ValueError:
        return None


def read_triples(mr: str) -> list[Triple]:
    """The triples of ``s | p | o<br>s | p | o``.

    Raises:
        FactError: one is malformed, or there are none.
    """
    triples = parse_each([part for part in _BREAK.split(mr) if part.strip()], parse_triple, "triple")
    if not triples:
        raise FactError(MALFORMED, "an input without triples")
    return triples


def read_xml(source: SourceFile, problems: Problems, lang: str | None = None) -> list[Input]:
    """The entries of a file: modified triples (otherwise the original ones), with lexicalisations as texts.

    ``lang``: leave out lexicalisations that are marked with another language.

    Raises:
        InputError: not well-formed, not safe, or not WebNLG; the message names the line.
    """
    root, lines = _parse(source)
    entries = [_input(entry, lines, source, problems, lang) for entry in root.iter("entry")]
    if not entries:
        raise InputError(f"{source.shown} has no <entry> elements; WebNLG's XML has one for every input")
    return entries


def _parse(source: SourceFile) -> tuple[Element, dict[Element, int]]:
    """The elements of a file, and the line of each."""
    builder, parser = TreeBuilder(), expat.ParserCreate()
    lines: dict[Element, int] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        lines[builder.start(name, attributes)] = parser.CurrentLineNumber

    def refuse(problem: str) -> None:
        raise InputError(f"{source.shown}:{parser.CurrentLineNumber}: {problem}")

    def declaration(name: str, system: str | None, public: str | None, subset: bool) -> None:
        if system or public:
            refuse(f"the document refers to an external part ({system or public!r}), which is never opened")

    def entity(name: str, *remainder: object) -> None:
        refuse(f"the document declares the entity {name!r}; write its text instead")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler, parser.EntityDeclHandler = declaration, entity
    try:
        parser.Parse(read_bytes(source), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code) or "unknown error"
        raise InputError(
            f"{source.shown}:{error.lineno}: not well-formed XML at column {error.offset + 1}: {reason}; fix the file"
        ) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"{source.shown}: unknown encoding ({error}); save the file as UTF-8") from error
    return builder.close(), lines


def _input(
    entry: Element, lines: dict[Element, int], source: SourceFile, problems: Problems, lang: str | None
) -> Input:
    """An entry with its texts; the references of a text are the other texts."""
    modified, original = (
        [
            triple
            for tripleset in entry.findall(f"{kind}tripleset")[:1]
            for triple in tripleset.findall(f"{kind[0]}triple")
        ]
        for kind in ("modified", "original")
    )
    facts = modified or original
    if not facts:
        problems.add(source.shown, lines[entry], "an entry without triples", entry.get("eid"))
    parsed = {fact: attempt(parse_triple, _text(fact)) for fact in (*modified, *original)}
    for fact in facts:
        if isinstance(error := parsed[fact], FactError):
            problems.add(source.shown, lines[fact], f"the triple {error}")
    texts = []
    for lex in entry.findall("lex"):
        # Version 1.5 has the text in its own element, next to its annotation.
        text = _text((lex.findall("text") or [lex])[-1])
        if not text:
            problems.left_out += 1  # a lexicalisation that was never written is no empty text
        elif lang is None or lex.get("lang", lang) == lang:
            texts.append(Text(lines[lex], text, None, _attributes(lex, LEX_ATTRIBUTES)))
    return Input(
        source.file,
        lines[entry],
        BETWEEN_TRIPLES.join(map(_text, facts)),
        _triples([parsed[fact] for fact in facts]),
        texts,
        _attributes(entry, ENTRY_ATTRIBUTES),
        _triples([parsed[fact] for fact in original]) if modified else None,
        texts,
    )


def _triples(parsed: Sequence[Parsed]) -> list[Triple] | None:
    """The triples of all facts; ``None`` without facts, or if a fact cannot be read."""
    triples = [triple for fact in parsed if not isinstance(fact, FactError) for triple in fact]
    return triples if len(triples) == len(parsed) and triples else None


def _text(element: Element) -> str:
    """The characters directly in an element, without annotation inside it."""
    return "".join([element.text or "", *(child.tail or "" for child in element)]).strip()


def _attributes(element: Element, names: Sequence[str]) -> dict[str, str]:
    return {name: element.attrib[name] for name in names if name in element.attrib}
