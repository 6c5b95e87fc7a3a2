"""Files of the WebNLG challenges: XML of inputs with lexicalisations, and CSV of the human evaluation of 2017.

Gardent et al. 2017; Castro Ferreira et al. 2020. Underscores and quotes in triples are kept; the templates handle them.
XML (versions 1 to 3, and the enriched 1.5) is parsed with expat directly: it gives line numbers, and a document cannot
make it open files or use memory without limit. Documents that declare entities or refer to an external part are refused
before their content is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from ..errors import InputError
from ..metric.facts import Triple
from ..metric.formats import parse_triple
from . import ConvertOptions
from .files import Problems, Source, expand_folders, parse_source, read_bytes, shorten
from .rows import Input, Rows, Text, no_references, own_texts
from .sheets import Form, read_sheet

REFERENCE = "reference"
RATINGS = ("semantics", "grammar", "fluency")
"""Columns of ratings in the CSV of the human evaluation of 2017; a row has their means."""
OK_FROM = 2.5
MAX_DEPTH = 100
ENTRY_ATTRIBUTES = ("eid", "category", "size", "shape", "shape_type")
LEX_ATTRIBUTES = ("lid", "comment", "lang")
BETWEEN_TRIPLES = "<br>"
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_XML_START = re.compile(rb"\s*(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<")


def convert_webnlg(
    inputs: Sequence[str], options: ConvertOptions, problems: Problems, *, lang: str | None = None
) -> Rows:
    """Rows from WebNLG files or folders of XML, each given as ``PATH`` or ``NAME=PATH``.

    With ``texts`` (files with one text per line), a row is an input with a line of a file; the inputs of several files
    are concatenated in the order given. Without, a row is an input with a text of its own file: each lexicalisation
    (system ``reference``), or the text column of a CSV (system: from its column, otherwise the file's name).

    Ratings of a CSV (:data:`RATINGS`) are also columns ``human_…``, and those of semantics give ``gold_rough``.

    Args:
        lang: leave out lexicalisations that are marked with another language.

    Raises:
        ScorerError: a file that cannot be read or used; with ``strict``, the first malformed line.
    """
    form = Form(read_triples, options)
    hint = None if options.texts else "; name it with --text-column, or pass the texts with --texts NAME=FILE"
    sources = expand_folders([parse_source(argument) for argument in inputs], ".xml")
    rows = Rows()
    together: list[Input] = []
    for source in sources:
        is_xml = _XML_START.match(read_bytes(source)[:100]) is not None
        found = read_xml(source, problems, lang) if is_xml else read_sheet(source, form, problems, hint).inputs
        if options.texts:
            together += found
        elif is_xml:
            if not any(entry.texts for entry in found):
                kind = f" in the language {lang!r}" if lang is not None else ""
                raise InputError(
                    f"{source.shown} has no lexicalisations{kind}; pass the texts of a system with --texts NAME=FILE"
                )
            rows.inputs += len(found)
            rows.add_own_texts(found, source.name if source.named else REFERENCE, own_texts)
        else:
            rows.inputs += len({one.key for one in found})
            rows.add_own_texts(found, source.name, no_references)
    if options.texts:
        where = sources[0].shown if len(sources) == 1 else f"{len(sources)} files together"
        references = own_texts if any(one.texts for one in together) else no_references
        rows.add_text_files([together], where, references, options, problems)
    else:
        for name in RATINGS:
            rows.derive(f"human_{name}", (name,), str)
        rows.derive("gold_rough", ("semantics",), rated_label)
    return rows


def rated_label(semantics: str) -> str | None:
    """The ROUGH label of a text whose mean rating of semantics is this."""
    try:
        return "OK" if float(semantics) >= OK_FROM else "not_OK"
    except ValueError:
        return None


def read_triples(mr: str) -> list[Triple] | str:
    """The triples of ``s | p | o<br>s | p | o``, or a description of its error."""
    if not mr.strip():
        return "an input without triples"
    triples = []
    for part in filter(str.strip, _BREAK.split(mr)):
        triple = parse_triple(part)
        if triple is None:
            return f"{shorten(part.strip())} is not a triple like subject | predicate | object"
        triples.append(triple)
    return triples


def read_xml(source: Source, problems: Problems, lang: str | None = None) -> list[Input]:
    """The entries of a file: modified triples (otherwise the original ones), with lexicalisations as texts.

    ``lang``: leave out lexicalisations that are marked with another language.

    Raises:
        InputError: not well-formed, not safe, or not WebNLG; the message names the line.
    """
    reader = _Reader(source, problems, lang)
    try:
        reader.parser.Parse(read_bytes(source), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code) or "unknown error"
        raise InputError(
            f"{source.shown}:{error.lineno}: not well-formed XML at column {error.offset + 1}: {reason}; fix the file"
        ) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"{source.shown}: unknown encoding ({error}); save the file as UTF-8") from error
    if not reader.inputs:
        raise InputError(f"{source.shown} has no <entry> elements; WebNLG's XML has one for every input")
    return reader.inputs


@dataclass(slots=True)
class _Element:
    """An element of an entry. ``characters``: those directly in it, not those of annotation inside it."""

    name: str
    line: int
    attributes: Mapping[str, str]
    children: list[_Element] = field(default_factory=list)
    characters: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.characters).strip()

    def all(self, name: str) -> list[_Element]:
        return [child for child in self.children if child.name == name]

    def chosen(self, names: Sequence[str]) -> dict[str, str]:
        """Those of some attributes that there are."""
        return {name: self.attributes[name] for name in names if name in self.attributes}


class _Reader:
    """The handlers of expat, and the entries that they have read."""

    def __init__(self, source: Source, problems: Problems, lang: str | None) -> None:
        self.inputs: list[Input] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity
        self._source, self._problems, self._lang = source, problems, lang
        self._depth = 0
        self._open: list[_Element] = []  # from the entry down

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._refuse(f"elements nested over {MAX_DEPTH} deep")
        if name == "entry" and self._open:
            self._refuse("an <entry> inside an <entry>")
        if name == "entry" or self._open:
            element = _Element(name, self.parser.CurrentLineNumber, attributes)
            if self._open:
                self._open[-1].children.append(element)
            self._open.append(element)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._open:
            element = self._open.pop()
            if not self._open:
                self.inputs.append(self._input(element))

    def _characters(self, data: str) -> None:
        if self._open:
            self._open[-1].characters.append(data)

    def _input(self, entry: _Element) -> Input:
        modified, original = (
            [triple for found in entry.all(f"{kind}tripleset")[:1] for triple in found.all(f"{kind[0]}triple")]
            for kind in ("modified", "original")
        )
        facts = modified or original
        if not facts:
            what = entry.attributes.get("eid")
            self._problems.add(self._source.shown, entry.line, "an entry without triples", what)
        triples = self._parse(facts)
        mr = BETWEEN_TRIPLES.join(fact.text for fact in facts)
        return Input(
            self._source.file,
            entry.line,
            mr,
            triples or None,
            self._texts(entry),
            entry.chosen(ENTRY_ATTRIBUTES),
            self._parse(original, report=False) if modified else None,
        )

    def _texts(self, entry: _Element) -> list[Text]:
        found = []
        for lex in entry.all("lex"):
            # Version 1.5 has the text in its own element, next to its annotation.
            text = (lex.all("text") or [lex])[-1].text
            if not text:
                self._problems.left_out += 1  # a lexicalisation that was never written is no empty text
            elif self._lang is None or lex.attributes.get("lang", self._lang) == self._lang:
                found.append(Text(lex.line, text, None, lex.chosen(LEX_ATTRIBUTES)))
        return found

    def _parse(self, facts: Sequence[_Element], report: bool = True) -> list[Triple] | None:
        triples = [parse_triple(fact.text) for fact in facts]
        for fact, triple in zip(facts, triples, strict=True):
            if triple is None and report:
                what = "not a triple like subject | predicate | object"
                self._problems.add(self._source.shown, fact.line, what, fact.text)
        return None if None in triples else [triple for triple in triples if triple is not None]

    def _doctype(self, name: str, system: str | None, public: str | None, subset: bool) -> None:
        if system or public:
            self._refuse(f"the document refers to an external part ({system or public!r}), which is never opened")

    def _entity(self, name: str, *rest: object) -> None:
        self._refuse(f"the document declares the entity {name!r}; write its text instead")

    def _refuse(self, what: str) -> None:
        raise InputError(f"{self._source.shown}:{self.parser.CurrentLineNumber}: {what}")
