"""The rows of a conversion: inputs paired with texts, an Arrow table of them, and the Parquet file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import InputError, OutputError, UsageError, count_of
from ..metric.facts import Triple
from ..storage.user_files import check_user_file, parquet_target, write_parquet
from . import ConvertOptions
from .source_files import Problems, parse_systems, read_lines, readable

_TRIPLES = pa.list_(pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())]))
_COLUMNS = {
    "mr": pa.string(),
    "triples": _TRIPLES,
    "text": pa.string(),
    "system": pa.string(),
    "file": pa.string(),
    "line": pa.int32(),
    "references": pa.list_(pa.string()),
    "original_triples": _TRIPLES,
}
"""The columns that a conversion writes itself; the last two only where there are any."""
_ROW_GROUP = 100_000
# Numbers whose text is unchanged after conversion: 007 is a code, and 20 digits are an identifier that a float rounds.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(slots=True, eq=False)
class Text:
    """A text in the file of its input."""

    line: int
    """Line number in the file, from 1."""
    text: str | None
    """The text; ``None`` if it cannot be read."""
    system: str | None = None
    """The system that wrote it, if the file names one."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Other columns of the file."""


@dataclass(slots=True)
class Input:
    """An input of a file, and its texts in the same file."""

    file: str
    line: int
    """Line number in the file, from 1."""
    mr: str | None
    """The facts as written; ``None`` if they cannot be read."""
    triples: list[Triple] | None
    """The facts as triples; ``None`` if they cannot be read."""
    texts: Sequence[Text] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
    """Other columns of the file."""
    original: list[Triple] | None = None
    """The triples before they were modified, if the file has both."""
    references: Sequence[Text] | None = None
    """Texts that other texts of this input are compared with; ``None`` if the data has no references."""

    @property
    def key(self) -> object:
        """A value that is equal for two spellings of the same input."""
        return tuple(sorted(self.triples)) if self.triples else self.mr


class ConvertedRows:
    """A growing table of inputs with a text each."""

    def __init__(self) -> None:
        self.inputs = 0
        """Number of inputs."""
        self.unreferenced: set[object] = set()
        """Keys of the inputs without references."""
        self._rows: list[dict[str, Any]] = []
        self._extra: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def systems(self) -> int:
        """The number of systems."""
        return len({row["system"] for row in self._rows})

    def add_own_texts(self, inputs: Iterable[Input], system: str) -> None:
        """Add a row for every text in the file of its input. ``system``: the system of texts that name none."""
        for entry in inputs:
            for text in entry.texts:
                self._add(entry, text, text.system or system, entry.file)

    def add_text_files(
        self, choices: Sequence[Sequence[Input]], where: str, options: ConvertOptions, problems: Problems
    ) -> None:
        """Add a row for every line of every text file, with the input of the same position.

        Args:
            choices: possible lists of inputs (all of them, or each distinct one once); the number of lines decides.
            where: the file of the inputs, for messages.

        Raises:
            InputError: a file has another number of lines than there are inputs.
        """
        for system in parse_systems(options.texts):
            lines = read_lines(system)
            inputs = next((choice for choice in choices if len(choice) == len(lines)), None)
            if inputs is None:
                counts = " or ".join(f"{n:,}" for n in dict.fromkeys(len(choice) for choice in choices))
                raise InputError(
                    f"{system.shown} has {count_of(len(lines), 'line')}, but {where} has {counts} inputs; "
                    "it must have one line for every input, a blank one if the system wrote nothing"
                )
            self.inputs = max(self.inputs, len(inputs))
            for number, (entry, line) in enumerate(zip(inputs, lines, strict=True), 1):
                text: str | None = line.text.strip()
                if line.error is not None:
                    problems.add(system.shown, number, line.error, text)
                    text = readable(line.text.strip())
                self._add(entry, Text(number, "" if text in options.empty else text), system.name, system.file)

    def _add(self, entry: Input, text: Text, system: str, file: str) -> None:
        references = entry.references
        reference_texts = (
            None
            if references is None
            else [reference.text for reference in references if reference.text and reference is not text]
        )
        values = (entry.mr, entry.triples, text.text, system, file, text.line, reference_texts, entry.original)
        extra = {**entry.extra, **text.extra}
        self._extra.update(dict.fromkeys(extra))
        self._rows.append({**extra, **dict(zip(_COLUMNS, values, strict=True))})

    def derive(self, name: str, sources: Sequence[str], rule: Callable[..., str | None]) -> None:
        """Add a column computed from others of the input; nothing where one is missing, or the input has it itself."""
        if name in self._extra or not all(source in self._extra for source in sources):
            return
        self._extra[name] = None
        for row in self._rows:
            values = [row.get(source) for source in sources]
            row[name] = None if None in values else rule(*values)

    def write(self, out: Path) -> None:
        """Write the Parquet file, completely or not at all: the columns of a conversion, then the others of the input,
        as numbers if all their values are numbers.

        Raises:
            InputError: none of the rows has facts and a text that can be read.
            OutputError: it cannot be written; an earlier file of that name is unchanged.
        """
        if not any(row["triples"] is not None and row["text"] is not None for row in self._rows):
            raise InputError(
                f"not one of {count_of(len(self), 'line')} has facts and a text that can be read, so {out} was not "
                "written; check that the command suits the files"
            )
        columns = {name: pa.array([row[name] for row in self._rows], kind) for name, kind in _COLUMNS.items()}
        for name in ("references", "original_triples"):
            if columns[name].null_count == len(self):
                del columns[name]
        table = pa.table(columns | {name: _typed([row.get(name) for row in self._rows]) for name in self._extra})
        groups = [table.slice(start, _ROW_GROUP) for start in range(0, table.num_rows, _ROW_GROUP)]
        write_parquet(parquet_target(out, "--out"), groups)


def check_output(out: Path, inputs: Sequence[str], force: bool) -> None:
    """Refuse an output that would overwrite something, before any work is done.

    Raises:
        UsageError: ``out`` is not the name of a Parquet file.
        OutputError: ``out`` is one of the inputs, exists and ``force`` is not set, or is a folder.
    """
    if out.suffix != ".parquet":
        raise UsageError(
            f"--out {out} is not the name of a Parquet file; write F.parquet, since `scorer run` reads those"
        )
    check_user_file(out, "--out", inputs=inputs, is_parquet=True)
    if out.exists() and not force:
        raise OutputError(f"--out {out} exists; choose another name, or replace it with --force")


def free_names(names: Sequence[str]) -> list[str]:
    """Unique names for columns that are passed through, different from the columns that a conversion writes."""
    used = set(_COLUMNS)
    free = []
    for name in names:
        free_name = f"source_{name}" if name in _COLUMNS else name
        while free_name in used:
            free_name += "_2"
        used.add(free_name)
        free.append(free_name)
    return free


def _typed(values: Sequence[str | None]) -> pa.Array:
    """A column of strings as int64 or float64 if every value is such a number (blank is null), otherwise as strings."""
    filled = [value.strip() for value in values if value is not None and value.strip()]
    for pattern, convert, kind in ((_INTEGER, int, pa.int64()), (_FLOAT, float, pa.float64())):
        if filled and all(pattern.fullmatch(value) for value in filled):
            return pa.array([convert(value) if value and value.strip() else None for value in values], kind)
    return pa.array(values, pa.string())
