"""WebNLG's XML (versions 1 to 3, and the enriched 1.5); only this module knows its elements.

Parsed with expat directly: it gives line numbers, and a document cannot make it open files or use memory without
limit. Documents that declare entities or refer to an external part are refused before their content is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from ..errors import InputError
from ..metric.facts import Triple
from ..metric.formats import parse_triple
from .lines import display, read_bytes
from .problems import Problems
from .rows import Input, Text
from .sources import Source

MAX_DEPTH = 100
ENTRY_ATTRIBUTES = ("eid", "category", "size", "shape", "shape_type")
LEX_ATTRIBUTES = ("lid", "comment", "lang")
BETWEEN_TRIPLES = "<br>"

_START = re.compile(rb"\s*(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<")


def is_xml(content: bytes) -> bool:
    """Whether a file's content is XML rather than CSV."""
    return _START.match(content) is not None


def read_xml(source: Source, problems: Problems, lang: str | None = None) -> list[Input]:
    """The entries of a file: modified triples (otherwise the original ones), with lexicalisations as texts.

    ``lang``: leave out lexicalisations that are marked with another language.

    Raises:
        InputError: not well-formed, not safe, or not WebNLG; the message names the line.
    """
    reader = _Reader(source, problems, lang)
    shown = display(source.path)
    try:
        reader.parser.Parse(read_bytes(source.path), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code) or "unknown error"
        raise InputError(
            f"{shown}:{error.lineno}: not well-formed XML at column {error.offset + 1}: {reason}; fix the file"
        ) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"{shown}: unknown encoding ({error}); save the file as UTF-8") from error
    if not reader.entries:
        raise InputError(f"{shown} has no <entry> elements; WebNLG's XML has one for every input")
    return reader.entries


@dataclass
class _Entry:
    line: int
    attributes: Mapping[str, str]
    modified: list[tuple[int, str]] = field(default_factory=list)
    original: list[tuple[int, str]] = field(default_factory=list)
    sets: dict[str, int] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)


class _Reader:
    """The handlers of expat, and the entries that they have read."""

    def __init__(self, source: Source, problems: Problems, lang: str | None) -> None:
        self.entries: list[Input] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity
        self._source = source
        self._shown = display(source.path)
        self._problems = problems
        self._lang = lang
        self._path: list[str] = []
        self._entry: _Entry | None = None
        self._gathered: list[str] | None = None
        self._begin = 0
        self._lex: Mapping[str, str] = {}
        self._whole: list[str] | None = None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        if len(self._path) > MAX_DEPTH:
            self._refuse(f"elements nested over {MAX_DEPTH} deep")
        if name == "entry":
            if self._entry is not None:
                self._refuse("an <entry> inside an <entry>")
            self._entry = _Entry(self.parser.CurrentLineNumber, attributes)
        elif self._entry is None:
            return
        elif name in ("modifiedtripleset", "originaltripleset"):
            self._entry.sets[name] = self._entry.sets.get(name, 0) + 1
        elif name in ("mtriple", "otriple"):
            self._gathered, self._begin = [], self.parser.CurrentLineNumber
        elif name == "lex":
            self._gathered, self._begin = [], self.parser.CurrentLineNumber
            self._lex, self._whole = attributes, self._gathered
        elif name == "text" and self._path[-2] == "lex":
            self._gathered = []  # version 1.5 has the text in its own element, next to its annotation

    def _end(self, name: str) -> None:
        self._path.pop()
        entry = self._entry
        if entry is None:
            return
        if name == "entry":
            self._entry = None
            self.entries.append(self._input(entry))
        elif name == "mtriple" and entry.sets.get("modifiedtripleset") == 1:
            entry.modified.append((self._begin, self._take()))
        elif name == "otriple" and entry.sets.get("originaltripleset") == 1:
            entry.original.append((self._begin, self._take()))
        elif name == "text" and self._path[-1:] == ["lex"]:
            self._whole = self._gathered
        elif name == "lex":
            self._gathered = self._whole
            text = self._take()
            if not text:
                self._problems.left_out += 1  # a lexicalisation that was never written is no empty text
            elif self._lang is None or self._lex.get("lang", self._lang) == self._lang:
                extra = {key: self._lex[key] for key in LEX_ATTRIBUTES if key in self._lex}
                entry.texts.append(Text(self._begin, text, None, extra))

    def _characters(self, data: str) -> None:
        # Only characters directly in the element: annotation inside a lexicalisation is not part of its text.
        if self._gathered is not None and self._path[-1] in ("mtriple", "otriple", "lex", "text"):
            self._gathered.append(data)

    def _take(self) -> str:
        gathered, self._gathered = self._gathered or [], None
        return "".join(gathered).strip()

    def _input(self, entry: _Entry) -> Input:
        attributes = {key: entry.attributes[key] for key in ENTRY_ATTRIBUTES if key in entry.attributes}
        facts = entry.modified or entry.original
        if not facts:
            self._problems.add(self._shown, entry.line, "an entry without triples", attributes.get("eid"))
        triples = self._parse(facts)
        original = self._parse(entry.original, report=False) if entry.modified else None
        mr = BETWEEN_TRIPLES.join(text for _, text in facts)
        return Input(self._source.file, entry.line, mr, triples or None, entry.texts, attributes, original)

    def _parse(self, facts: list[tuple[int, str]], report: bool = True) -> list[Triple] | None:
        triples = [parse_triple(text) for _, text in facts]
        if report:
            for (line, text), triple in zip(facts, triples, strict=True):
                if triple is None:
                    self._problems.add(self._shown, line, "not a triple like subject | predicate | object", text)
        return None if None in triples else [triple for triple in triples if triple is not None]

    def _doctype(self, name: str, system: str | None, public: str | None, subset: bool) -> None:
        if system or public:
            self._refuse(f"the document refers to an external part ({system or public!r}), which is never opened")

    def _entity(self, name: str, *rest: object) -> None:
        self._refuse(f"the document declares the entity {name!r}; write its text instead")

    def _refuse(self, what: str) -> None:
        raise InputError(f"{self._shown}:{self.parser.CurrentLineNumber}: {what}")
