"""CSV and TSV files of inputs: identify the columns, and read one input per record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..errors import InputError
from ..metric.facts import Triple
from .lines import NUL, UNREADABLE, display, read_lines
from .problems import Problems
from .records import Record, find_separator, read_records
from .rows import Input, Text, free_names
from .sources import Source

MR_NAMES = ("mr", "meaning_representation", "orig_mr")
TEXT_NAMES = ("text", "output", "system_output", "ref", "reference", "human_reference", "utterance", "prediction")
SYSTEM_NAMES = ("system", "team", "sys_id")

# Reads one meaning representation: returns its triples, or a description of its error.
Parser = Callable[[str], "list[Triple] | str"]


@dataclass(frozen=True)
class Form:
    """The differences between the two kinds of data.

    ``parse``: from a meaning representation to triples, or to a description of its error. ``headless``: recognises a
    file without a header by its first line. ``unwrap``: remove quotes that some systems wrote around both values.
    ``repair``: what is done to a value first.
    """

    parse: Parser
    headless: bool = False
    unwrap: bool = False
    mr_column: str | None = None
    text_column: str | None = None
    empty: tuple[str, ...] = ()
    repair: Callable[[str], str] = str


@dataclass(frozen=True)
class _Columns:
    names: tuple[str, ...]
    mr: int
    text: int | None
    system: int | None

    @property
    def passed(self) -> list[tuple[int, str]]:
        """The other columns (position, name in the output), which are passed through."""
        own = {self.mr, self.text, self.system}
        others = [n for n in range(len(self.names)) if n not in own]
        return list(zip(others, free_names([self.names[n] or f"column_{n + 1}" for n in others]), strict=True))


class Sheet:
    """An open CSV or TSV file: its columns are known, and its inputs can be read once.

    Raises:
        InputError: the file cannot be read, or has no column of meaning representations.
    """

    def __init__(self, source: Source, form: Form, problems: Problems) -> None:
        self._file = source.file
        self._named_system = source.named
        self._shown = display(source.path)
        self._form = form
        self._problems = problems
        self._parsed: dict[str, list[Triple] | str] = {}  # inputs recur, once for every system or reference
        lines = read_lines(source.path)
        first = next((line for line in lines.text if line.strip()), None)
        if first is None:
            raise InputError(f"{self._shown} has only blank lines")
        # A file with one meaning representation per line has commas, but no fields.
        plain = form.headless and "\t" not in first and isinstance(form.parse(first.strip()), list)
        self._records = read_records(lines, None if plain else find_separator(first))
        self._pending: Record | None = next(self._records)
        header = self._header(self._pending)
        if header is None:
            self._columns = self._guess(self._pending)
        else:
            self._columns, self._pending = header, None

    @property
    def has_text(self) -> bool:
        """Whether there is a column of texts."""
        return self._columns.text is not None

    @property
    def column_names(self) -> str:
        """The names of the columns, for messages."""
        return ", ".join(name or "(no name)" for name in self._columns.names)

    def inputs(self) -> Iterator[Input]:
        """The inputs in order; malformed values are reported and become null."""
        if self._pending is not None:
            yield self._input(self._pending)
        for record in self._records:
            yield self._input(record)

    def _header(self, record: Record) -> _Columns | None:
        names = tuple(field.strip().strip("'") for field in record.fields)
        lower = [name.lower() for name in names]
        if self._form.mr_column is not None:
            mr: int | None = self._named(names, self._form.mr_column, "--mr-column")
        else:
            mr = next((lower.index(name) for name in MR_NAMES if name in lower), None)
        if mr is None:
            return None
        if self._form.text_column is not None:
            text: int | None = self._named(names, self._form.text_column, "--text-column")
        else:
            text = next((lower.index(name) for name in TEXT_NAMES if name in lower and lower.index(name) != mr), None)
        system = next((lower.index(name) for name in SYSTEM_NAMES if name in lower), None)
        if self._named_system:  # the user's name overrides the file's column, which is then passed through
            system = None
        return _Columns(names, mr, text, system if system not in (mr, text) else None)

    def _named(self, names: Sequence[str], wanted: str, option: str) -> int:
        if wanted not in names:
            raise InputError(f"{self._shown}: no column {wanted!r} for {option}; the columns are {', '.join(names)}")
        return list(names).index(wanted)

    def _guess(self, record: Record) -> _Columns:
        """The columns of a file without a header, from its first record."""
        fields = [field.strip() for field in record.fields]
        found = [n for n, field in enumerate(fields) if isinstance(self._form.parse(_bare(field)), list)]
        if not self._form.headless or len(found) != 1 or len(fields) > 2:
            raise InputError(
                f"{self._shown}:{record.line}: neither a header with a column mr nor a meaning representation: "
                f"{record.raw[:80]!r}; add a header to the file, or name its column with --mr-column"
            )
        mr = found[0]
        if len(fields) == 1:
            return _Columns(("mr",), mr, None, None)
        return _Columns(("mr", "text") if mr == 0 else ("text", "mr"), mr, 1 - mr, None)

    def _input(self, record: Record) -> Input:
        columns, form = self._columns, self._form
        fields, problem = record.fields, record.problem
        width = len(columns.names)
        while len(fields) > width and not fields[-1].strip():
            fields = fields[:-1]
        if len(fields) > width:
            problem = problem or f"{len(fields)} columns instead of {width}"
            fields = []
        elif len(fields) < width and fields:
            problem = problem or f"{len(fields)} columns instead of {width}"
        cells = [_readable(field.strip()) for field in fields]
        cells += [None] * (width - len(cells))
        mr, text = cells[columns.mr], None if columns.text is None else cells[columns.text]
        mr, text = (None if value is None else form.repair(value) for value in (mr, text))
        if form.unwrap:
            mr, text = _unwrap(mr, text)
        if text is not None and text in form.empty:
            text = ""
        triples: list[Triple] | None = None
        if mr is not None:
            if (parsed := self._parsed.get(mr)) is None:
                parsed = self._parsed[mr] = form.parse(mr)
            if isinstance(parsed, list):
                triples = parsed
            else:
                problem = problem or parsed
        if problem is not None:
            self._problems.add(self._shown, record.line, problem, record.raw if not fields or mr is None else mr)
        extra = {name: value for n, name in columns.passed if (value := cells[n]) is not None}
        system = None if columns.system is None else cells[columns.system]
        texts = () if columns.text is None else (Text(record.line, text, system),)
        return Input(self._file, record.line, mr, triples, texts, extra)


def _readable(field: str) -> str | None:
    return None if UNREADABLE in field or NUL in field else field


def _bare(field: str) -> str:
    """A value without one pair of quotes around it, single or double."""
    return field[1:-1].strip() if len(field) > 1 and field[0] == field[-1] and field[0] in "'\"" else field


def _unwrap(mr: str | None, text: str | None) -> tuple[str | None, str | None]:
    """Remove quotes around both values, if they are around the meaning representation; a quoted text alone is kept,
    since it may be a quotation."""
    if mr is None or (bare := _bare(mr)) == mr:
        return mr, text
    if text is not None and text[:1] == mr[0]:
        text = _bare(text)
    return bare, text
