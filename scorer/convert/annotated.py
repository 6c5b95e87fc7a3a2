"""Outputs of language models with marked error spans: the tables of Quintd-1 and of D2T-Eval, which have one form.

A collection is the folder of its repository (:mod:`.quintd`, :mod:`.d2t_eval`), or a Parquet file with one row per
output: ``domain``, ``model``, ``example_idx``, ``data``, ``text``, ``human_spans_by_annotator`` or ``human_spans``, and
the spans of each model that served as an annotator. The texts are brief by instruction, so that an omission is no
error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError
from ..metric.facts import Triple
from ..storage.local_paths import local_path
from .annotated_data import read_data
from .lines import display, read_bytes
from .problems import Problems
from .rows import TRIPLES

_NEEDED = ("domain", "model", "example_idx", "data", "text")
_PLACED = pa.schema([("text_id", pa.string()), ("system", pa.string()), ("domain", pa.string()),
                     ("example", pa.string()), ("annotator", pa.string()), ("char_start", pa.int64()),
                     ("char_end", pa.int64()), ("category", pa.string()), ("span", pa.string())])  # fmt: skip
Placed = Sequence[tuple[str, Sequence["Span"]]]
UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)
"""What a line of a collection raises that is JSON, but not of its form: a number may be ``1e999``."""


@dataclass(frozen=True)
class Span:
    """An error span: code points from ``start`` to ``end``, and its category."""

    start: int
    end: int
    category: str


@dataclass
class Output:
    """One text. ``human``: the spans of each person, the main one first. ``judges``: those of each model."""

    domain: str
    model: str
    example: int
    data: str
    text: str
    human: list[list[Span]] = field(default_factory=list)
    judges: dict[str, list[Span]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises :class:`UnicodeEncodeError` for half of a surrogate pair, which JSON may have and Arrow may not."""
        "".join((self.domain, self.model, self.data, self.text)).encode()


Key = tuple[str, str, int]
"""Domain, model and number of the input."""


@dataclass(frozen=True)
class Collection:
    """How a collection is published.

    ``name``: begins the ids of its texts. ``categories``: what the numbers of its annotations stand for; a span of the
    first one contradicts the data. ``domains``: of its inputs. ``folder``: of its repository, for messages.
    ``read``: the outputs of that folder. ``judge_columns``: the annotating models of its Parquet file, by column.
    ``split``: the outputs of that file that are taken, where it has a column of this value.
    """

    name: str
    categories: tuple[str, ...]
    domains: tuple[str, ...]
    folder: str
    read: Callable[[Path, Problems], list[Output]]
    judge_columns: Callable[[Sequence[str]], dict[str, str]]
    split: str | None = None


@dataclass(frozen=True)
class Annotated:
    """``rows``: input of ``scorer run``. ``spans``: gold of ``scorer evaluate --spans``, the errors that people marked.
    ``judged``: those that models marked, for ``--rivals``. ``inputs``: different inputs among the rows."""

    rows: pa.Table
    spans: pa.Table
    judged: pa.Table
    inputs: int


def convert_annotated(collection: Collection, source: str, problems: Problems) -> Annotated:
    """Read the repository's folder, or a Parquet file.

    Raises:
        InputError: nothing to read, or not of this form; under ``strict``, the first output that cannot be read.
    """
    path = local_path(source, "the input")
    outputs = collection.read(path, problems) if path.is_dir() else _from_parquet(path, collection, problems)
    if not outputs:
        raise InputError(f"{display(path)} has no outputs; give the folder {collection.folder} of the repository")
    facts = [_facts(output, collection, path, number, problems) for number, output in enumerate(outputs)]
    return Annotated(
        _rows(outputs, facts, collection),
        _placed(outputs, collection, lambda output: [(str(n), spans) for n, spans in enumerate(output.human)]),
        _placed(outputs, collection, lambda output: sorted(output.judges.items())),
        len({(output.domain, output.data) for output in outputs}),
    )


def read_annotations(
    file: Path,
    collection: Collection,
    outputs: Mapping[Key, Output],
    key: Callable[[Any], Key | None],
    problems: Problems,
) -> Iterator[tuple[Output, list[Span]]]:
    """The outputs that a file of annotations names (JSON Lines), each with its spans in the order of the text.

    ``key``: of an annotation; ``None`` for one of another split.
    """
    where = display(f"{file.parent.name}/{file.name}")
    for number, line in enumerate(read_bytes(file).decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            name = key(found)
            if name is None:
                continue
            output = outputs[name]
            spans = [_marked(one, output.text, collection.categories) for one in found["annotations"]]
        except UNREADABLE as error:
            problems.add(where, number, f"an annotation that cannot be read ({type(error).__name__})")
            continue
        lost = sum(span is None for span in spans)
        if lost:
            problems.add(where, number, f"spans that are not in the text: {lost}")
        yield output, sorted((span for span in spans if span is not None), key=lambda span: span.start)


def read_json(file: Path) -> Any:
    """A file of JSON.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return json.loads(read_bytes(file))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{display(file)} is not JSON: {str(error)[:80]}") from error


def _marked(one: Mapping[str, Any], text: str, categories: Sequence[str]) -> Span | None:
    """An annotated span; one whose offset is wrong is moved to where its text occurs once, otherwise ``None``."""
    start, said, category = int(one["start"]), str(one["text"] or ""), categories[int(one["type"])]
    if not said:  # of an output that is nothing but punctuation
        return Span(start, len(text) if not text.strip(" .") else start, category)
    if start < 0 or text[start : start + len(said)] != said:
        if text.count(said) != 1:
            return None
        start = text.index(said)
    return Span(start, start + len(said), category)


def _name(output: Output, collection: Collection) -> str:
    return f"{collection.name}-{output.domain}-{output.example}-{output.model}"


def _facts(output: Output, collection: Collection, path: Path, number: int, problems: Problems) -> list[Triple] | None:
    known = output.domain in collection.domains
    found = read_data(output.domain, output.data) if known else f"unknown domain {output.domain!r}"
    if isinstance(found, str):
        problems.add(display(path.name), number, found, _name(output, collection))
        return None
    return found


def _rows(outputs: Sequence[Output], facts: Sequence[list[Triple] | None], collection: Collection) -> pa.Table:
    triples = [None if row is None else [triple._asdict() for triple in row] for row in facts]
    wrong = collection.categories[0]
    judges = sorted({judge for output in outputs for judge in output.judges})
    return pa.table(
        {
            "text_id": [_name(output, collection) for output in outputs],
            "system": [output.model for output in outputs],
            "domain": [output.domain for output in outputs],
            "example": [f"{output.domain}-{output.example}" for output in outputs],
            "triples": pa.array(triples, TRIPLES),
            "text": [output.text for output in outputs],
            "gold_rough": pa.array([_label(output.human[0] if output.human else None, wrong) for output in outputs],
                                   pa.string()),
            **{
                f"{judge}_rough": pa.array([_label(output.judges.get(judge), wrong) for output in outputs], pa.string())
                for judge in judges
            },
        }
    )  # fmt: skip


def _label(spans: Sequence[Span] | None, wrong: str) -> str | None:
    """``not_OK`` with at least one span of the only category that contradicts the data."""
    if spans is None:
        return None
    return "not_OK" if any(span.category == wrong for span in spans) else "OK"


def _placed(outputs: Iterable[Output], collection: Collection, which: Callable[[Output], Placed]) -> pa.Table:
    """A row per span; a row without a place for an annotator who marked nothing in a text."""
    columns: dict[str, list[Any]] = {name: [] for name in _PLACED.names}
    for output in outputs:
        example = f"{output.domain}-{output.example}"
        for annotator, spans in which(output):
            for span in spans or (None,):
                where = (
                    (span.start, span.end, span.category, output.text[span.start : span.end]) if span else [None] * 4
                )
                values = (_name(output, collection), output.model, output.domain, example, annotator, *where)
                for name, value in zip(columns, values, strict=True):
                    columns[name].append(value)
    return pa.table(columns, _PLACED)


def _from_parquet(path: Path, collection: Collection, problems: Problems) -> list[Output]:
    try:
        names = pq.read_schema(path).names
        missing = [name for name in _NEEDED if name not in names]
        if missing:
            raise InputError(
                f"{display(path)} has no column {missing[0]!r}; give the folder {collection.folder} of the repository, "
                f"or a Parquet file with the columns {', '.join(_NEEDED)}"
            )
        judges = collection.judge_columns(names)
        optional = ("human_spans_by_annotator", "human_spans", "split", *judges.values())
        rows = pq.read_table(path, columns=[*_NEEDED, *(name for name in optional if name in names)]).to_pylist()
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {display(path)} as Parquet: {error}") from error
    outputs = []
    for number, row in enumerate(rows):
        if collection.split is not None and row.get("split", collection.split) != collection.split:
            continue
        try:
            outputs.append(_from_row(row, judges))
        except UNREADABLE as error:
            problems.add(display(path.name), number, f"an output that cannot be read ({error})")
    return outputs


def _from_row(row: Mapping[str, Any], judges: Mapping[str, str]) -> Output:
    human = row.get("human_spans_by_annotator")
    if human is None and row.get("human_spans") is not None:
        human = [row["human_spans"]]
    marked = {judge: _spans(row[column]) for judge, column in judges.items() if row[column] is not None}
    return Output(
        str(row["domain"]), str(row["model"]), int(row["example_idx"]), str(row["data"]), str(row["text"]),
        [_spans(spans) for spans in human or []], marked,
    )  # fmt: skip


def _spans(spans: Iterable[Mapping[str, Any]]) -> list[Span]:
    """The spans that have a place."""
    return [
        Span(int(span["start"]), int(span["end"]), str(span["type"])) for span in spans if span["start"] is not None
    ]
