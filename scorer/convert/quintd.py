"""Quintd-1 (Kasner & Dušek, ACL 2024): outputs of four open language models on five domains, with error spans.

Read is the repository's folder ``data/quintd-1`` (``outputs/SPLIT/DOMAIN/SETUP/*.json``, ``annotations/human/*.jsonl``,
``annotations/human_corr``, ``annotations/gpt-4``), or a Parquet file with one row per output and the columns
``domain``, ``model``, ``example_idx``, ``data``, ``text``, ``human_spans_by_annotator``, ``gpt4_spans``.

The texts are brief by instruction, so that an omission is no error; error spans are marked in the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError
from ..metric.triples import Triple
from ..storage.local_paths import local_path
from .lines import display, read_bytes
from .problems import Problems
from .quintd_data import DOMAINS, read_data
from .rows import TRIPLES

CATEGORIES = ("Incorrect", "Not checkable", "Misleading", "Other")
"""What the numbers 0 to 3 stand for in the repository's annotations."""
_BEFORE, _AFTER = "Based on the given data:\n```\n", "\n```\n"
_NEEDED = ("domain", "model", "example_idx", "data", "text")
_PLACED = pa.schema([("text_id", pa.string()), ("system", pa.string()), ("domain", pa.string()),
                     ("example", pa.string()), ("annotator", pa.int32()), ("char_start", pa.int64()),
                     ("char_end", pa.int64()), ("category", pa.string()), ("span", pa.string())])  # fmt: skip


@dataclass(frozen=True)
class Span:
    """An error span: code points from ``start`` to ``end``, and its category."""

    start: int
    end: int
    category: str


@dataclass
class Output:
    """One text. ``human``: the spans of each annotator, the main one first. ``judge``: those of GPT-4; ``None`` where
    there is no such annotation."""

    domain: str
    model: str
    example: int
    data: str
    text: str
    human: list[list[Span]] = field(default_factory=list)
    judge: list[Span] | None = None

    @property
    def name(self) -> str:
        return f"quintd-{self.domain}-{self.example}-{self.model}"


@dataclass(frozen=True)
class Quintd:
    """``rows``: input of ``scorer run``. ``spans``: gold of ``scorer evaluate --spans``, the errors that people marked.
    ``judged``: flags of GPT-4, to evaluate in place of a metric's. ``inputs``: different inputs among the rows."""

    rows: pa.Table
    spans: pa.Table
    judged: pa.Table
    inputs: int


def convert_quintd(source: str, problems: Problems, split: str = "test") -> Quintd:
    """Read the repository's folder, or a Parquet file.

    Args:
        split: of the outputs in the folder; all annotated ones are ``test``.

    Raises:
        InputError: nothing to read, or not of this form; under ``strict``, the first output that cannot be read.
    """
    path = local_path(source, "the input")
    outputs = _from_folder(path, problems, split) if path.is_dir() else _from_parquet(path, problems)
    if not outputs:
        raise InputError(f"{display(path)} has no outputs; give the folder data/quintd-1 of the repository")
    facts = [_facts(output, path, number, problems) for number, output in enumerate(outputs)]
    return Quintd(_rows(outputs, facts), _placed(outputs, _marked), _placed(outputs, _judged),
                  len({(output.domain, output.data) for output in outputs}))  # fmt: skip


def _facts(output: Output, path: Path, number: int, problems: Problems) -> list[Triple] | None:
    found = read_data(output.domain, output.data) if output.domain in DOMAINS else f"unknown domain {output.domain!r}"
    if isinstance(found, str):
        problems.add(display(path.name), number, found, output.name)
        return None
    return found


def _rows(outputs: Sequence[Output], facts: Sequence[list[Triple] | None]) -> pa.Table:
    main = [output.human[0] if output.human else None for output in outputs]
    triples = [None if row is None else [triple._asdict() for triple in row] for row in facts]
    return pa.table(
        {
            "text_id": [output.name for output in outputs],
            "system": [output.model for output in outputs],
            "domain": [output.domain for output in outputs],
            "example": [f"{output.domain}-{output.example}" for output in outputs],
            "triples": pa.array(triples, TRIPLES),
            "text": [output.text for output in outputs],
            "gold_rough": pa.array([_wrong(spans) for spans in main], pa.string()),
            "gpt4_rough": pa.array([_wrong(output.judge) for output in outputs], pa.string()),
        }
    )


def _wrong(spans: Sequence[Span] | None) -> str | None:
    """``not_OK`` with at least one span that is *Incorrect*: the only category that contradicts the data."""
    if spans is None:
        return None
    return "not_OK" if any(span.category == CATEGORIES[0] for span in spans) else "OK"


def _marked(output: Output) -> Iterator[tuple[int, Sequence[Span]]]:
    yield from enumerate(output.human)


def _judged(output: Output) -> Iterator[tuple[int, Sequence[Span]]]:
    if output.judge is not None:
        yield 0, output.judge


def _placed(outputs: Sequence[Output], which: Any) -> pa.Table:
    """A row per span; a row without a place for an annotator who marked nothing in a text."""
    columns: dict[str, list[Any]] = {name: [] for name in _PLACED.names}
    for output in outputs:
        for annotator, spans in which(output):
            for span in spans or (None,):
                values = (
                    output.name,
                    output.model,
                    output.domain,
                    f"{output.domain}-{output.example}",
                    annotator,
                    span.start if span else None,
                    span.end if span else None,
                    span.category if span else None,
                    output.text[span.start : span.end] if span else None,
                )
                for name, value in zip(columns, values, strict=True):
                    columns[name].append(value)
    return pa.table(columns, _PLACED)


def _from_parquet(path: Path, problems: Problems) -> list[Output]:
    try:
        names = pq.read_schema(path).names
        missing = [name for name in _NEEDED if name not in names]
        if missing:
            raise InputError(
                f"{display(path)} has no column {missing[0]!r}; give the folder data/quintd-1 of the repository, or a "
                f"Parquet file with the columns {', '.join(_NEEDED)}"
            )
        wanted = [*_NEEDED, *(n for n in ("human_spans_by_annotator", "human_spans", "gpt4_spans") if n in names)]
        rows = pq.read_table(path, columns=wanted).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {display(path)} as Parquet: {error}") from error
    outputs = []
    for number, row in enumerate(rows):
        try:
            human = row.get("human_spans_by_annotator")
            if human is None and row.get("human_spans") is not None:
                human = [row["human_spans"]]
            outputs.append(
                Output(
                    str(row["domain"]),
                    str(row["model"]),
                    int(row["example_idx"]),
                    str(row["data"]),
                    str(row["text"]),
                    [[_span(span) for span in spans] for spans in human or []],
                    None if row.get("gpt4_spans") is None else [_span(span) for span in row["gpt4_spans"]],
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            problems.add(display(path.name), number, f"an output that cannot be read ({error})")
    return outputs


def _span(span: Mapping[str, Any]) -> Span:
    return Span(int(span["start"]), int(span["end"]), str(span["type"]))


def _from_folder(path: Path, problems: Problems, split: str) -> list[Output]:
    files = sorted((path / "outputs" / split).rglob("*.json"))
    if not files:
        raise InputError(
            f"{display(path)} has no outputs/{split}/**/*.json; give the folder data/quintd-1 of the repository"
        )
    outputs: dict[tuple[str, str, int], Output] = {}
    for file in files:
        content = _json(read_bytes(file), file)
        generated = content.get("generated") if isinstance(content, dict) else None
        if not isinstance(generated, list):
            raise InputError(f"{display(file)} has no list `generated`; it is not an output file of Quintd")
        for number, one in enumerate(generated):
            try:
                data = one["in"].partition(_BEFORE)[2].partition(_AFTER)[0] or one["in"]
                key = str(content["dataset"]), str(content["model"]), number
                outputs.setdefault(key, Output(*key, data, str(one["out"])))
            except (KeyError, TypeError, AttributeError) as error:
                problems.add(display(file.name), number, f"an output that cannot be read ({error})")
    for folder, is_judge in (("human", False), ("human_corr", False), ("gpt-4", True)):
        for file in sorted((path / "annotations" / folder).glob("*.jsonl")):
            _annotate(file, outputs, is_judge, problems)
    # Outputs that nobody annotated are of no use here: a second run, say.
    return [output for output in outputs.values() if output.human or output.judge is not None]


def _annotate(file: Path, outputs: Mapping[tuple[str, str, int], Output], is_judge: bool, problems: Problems) -> None:
    for number, line in enumerate(read_bytes(file).decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            output = outputs[found["dataset"], found["model"], int(found["table_idx"])]
            marked = [_marked_span(one, output.text) for one in found["annotations"]]
        except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
            problems.add(display(file.name), number, f"an annotation that cannot be read ({type(error).__name__})")
            continue
        spans = sorted(marked, key=lambda span: span.start)
        if is_judge:
            output.judge = spans
        elif spans not in output.human:  # one annotation is in the repository twice
            output.human.append(spans)


def _marked_span(one: Mapping[str, Any], text: str) -> Span:
    start = int(one["start"])
    # Where the text of a span is empty, it is of an output that is nothing but punctuation.
    end = start + len(one["text"]) if one["text"] else len(text) if not text.strip(" .") else start
    return Span(start, min(end, len(text)), CATEGORIES[int(one["type"])])


def _json(content: bytes, file: Path) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{display(file)} is not JSON: {str(error)[:80]}") from error
