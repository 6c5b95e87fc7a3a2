"""Outputs of language models with marked error spans: Quintd-1 (Kasner & Dušek, ACL 2024) and D2T-Eval (Kasner et al.,
2025, Large Language Models as Span Annotators).

A collection is the folder of its repository, or a Parquet file with one row per output: ``domain``, ``model``,
``example_idx``, ``data``, ``text``, ``human_spans_by_annotator`` or ``human_spans``, and the spans of each model that
served as an annotator. The texts are brief by instruction, so that an omission is no error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.paper.spans.inputs import read_data
from scorer.errors import InputError

_NEEDED = ("domain", "model", "example_idx", "data", "text")
_TRIPLES = pa.list_(pa.struct([(name, pa.string()) for name in ("subject", "predicate", "object")]))
_ABOUT = [(name, pa.string()) for name in ("text_id", "system", "domain", "example")]
_PLACED = pa.schema([*_ABOUT, ("annotator", pa.string()), ("char_start", pa.int64()), ("char_end", pa.int64()),
                     ("category", pa.string()), ("span", pa.string())])  # fmt: skip
_UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError)
Note = Callable[[str], None]
Key = tuple[str, str, int]
"""Domain, model and number of the input."""
Span = dict[str, Any]
"""``char_start`` and ``char_end`` (code points), ``category``, and ``span``: its text."""


@dataclass
class LlmOutput:
    """One text. ``human``: the spans of each person, the main one first. ``judges``: those of each model."""

    domain: str
    model: str
    example: int
    data: str
    text: str
    human: list[list[Span]] = field(default_factory=list)
    judges: dict[str, list[Span]] = field(default_factory=dict)

    def span(self, start: int, end: int, category: str) -> Span:
        return {"char_start": start, "char_end": end, "category": category, "span": self.text[start:end]}

    def about(self, collection: Collection) -> dict[str, Any]:
        example = f"{self.domain}-{self.example}"
        name = f"{collection.name}-{example}-{self.model}"
        return {"text_id": name, "system": self.model, "domain": self.domain, "example": example}


@dataclass(frozen=True)
class Collection:
    """``name``: begins the ids of its texts. ``categories``: by the numbers of its annotations; a span of the first one
    contradicts the data. ``read``: the outputs of its folder. ``judges``: before the names of the annotating models in
    the columns of its Parquet file, and behind them. ``split``: the outputs of that file that are taken."""

    name: str
    categories: tuple[str, ...]
    read: Callable[[Path, Note], Iterable[LlmOutput]]
    judges: tuple[str, str]
    split: str | None = None

    def label(self, spans: Sequence[Span] | None) -> str | None:
        if spans is None:
            return None
        return "not_OK" if any(span["category"] == self.categories[0] for span in spans) else "OK"


def convert(collection: Collection, path: Path, note: Note = lambda line: None) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Rows for ``scorer run``, the errors that people marked, and those that models marked. ``note``: told of each
    annotation or input that cannot be read."""
    found = collection.read(path, note) if path.is_dir() else _from_parquet(path, collection)
    # Outputs that nobody annotated are of no use here: a second run, say.
    outputs = [output for output in found if output.human or output.judges]
    if not outputs:
        raise InputError(f"{path} has no outputs; pass the folder of the repository or a Parquet file of outputs")
    judges = sorted({judge for output in outputs for judge in output.judges})
    labels = ["gold_rough", *(f"{judge}_rough" for judge in judges)]
    rows, marked, judged = [], list[Span](), list[Span]()
    for output in outputs:
        about, triples = output.about(collection), None
        try:
            triples = [fact._asdict() for fact in read_data(output.domain, output.data)]
        except (*_UNREADABLE, SyntaxError) as error:
            note(f"{about['text_id']}: an input that cannot be read ({type(error).__name__}: {error})")
        given = next(iter(output.human), None), *map(output.judges.get, judges)
        rough = zip(labels, map(collection.label, given), strict=True)
        rows.append({**about, "triples": triples, "text": output.text, **dict(rough)})
        marked += _placed(about, ((str(number), spans) for number, spans in enumerate(output.human)))
        judged += _placed(about, sorted(output.judges.items()))
    schema = pa.schema(
        [*_ABOUT, ("triples", _TRIPLES), ("text", pa.string()), *((name, pa.string()) for name in labels)]
    )
    return pa.Table.from_pylist(rows, schema), *(pa.Table.from_pylist(one, _PLACED) for one in (marked, judged))


def _placed(about: dict[str, Any], marked: Iterable[tuple[str, list[Span]]]) -> list[Span]:
    """A row per span; a row without a place for an annotator who marked nothing in a text."""
    return [{**about, "annotator": name, **span} for name, spans in marked for span in spans or [{}]]


def _read_quintd(path: Path, note: Note) -> Iterable[LlmOutput]:
    """``outputs/test/DOMAIN/SETUP/*.json`` and ``annotations`` of ``data/quintd-1``."""
    outputs: dict[Key, LlmOutput] = {}
    for file in sorted((path / "outputs" / "test").rglob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for number, one in enumerate(content["generated"]):
            data = one["in"].partition("Based on the given data:\n```\n")[2].partition("\n```\n")[0] or one["in"]
            key = str(content["dataset"]), str(content["model"]), number
            outputs.setdefault(key, LlmOutput(*key, data, str(one["out"])))

    def key_of(line: Mapping[str, Any]) -> Key:
        return line["dataset"], line["model"], int(line["table_idx"])

    for folder in ("human", "human_corr", "gpt-4"):
        for file in sorted((path / "annotations" / folder).glob("*.jsonl")):
            for output, spans in _annotations(file, QUINTD, outputs, key_of, note):
                if folder == "gpt-4":
                    output.judges["gpt4"] = spans
                elif spans not in output.human:  # one annotation is in the repository twice
                    output.human.append(spans)
    return outputs.values()


def _read_d2t_eval(path: Path, note: Note) -> Iterable[LlmOutput]:
    """``inputs``, ``outputs`` and ``annotations`` in the root of the repository; the split *test*."""

    def key_of(line: Mapping[str, Any]) -> Key | None:
        if line["split"] != "test":  # the file of the test has the texts that all people annotated, too
            return None
        # Some files write llama3.3, others llama3-3.
        return line["dataset"].removeprefix("d2t-"), line["setup_id"].replace(".", "-"), int(line["example_idx"])

    inputs: dict[tuple[str, int], str] = {}
    for file in sorted((path / "inputs" / "d2t-eval").glob("*/test.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for number, example in enumerate(content["forecasts"] if isinstance(content, dict) else content):
            inputs[file.parent.name.removeprefix("d2t-"), number] = json.dumps(example, ensure_ascii=False)
    outputs: dict[Key, LlmOutput] = {}
    for file in sorted((path / "outputs" / "d2t-eval").rglob("*-test.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            if (key := key_of(found)) is not None:
                outputs[key] = LlmOutput(*key, inputs[key[0], key[2]], str(found["output"]))
    annotated = path / "annotations"
    for file in sorted((annotated / "human" / "d2t-eval" / "test").glob("annotations.jsonl")):
        for output, spans in _annotations(file, D2T_EVAL, outputs, key_of, note):
            output.human.append(spans)
    for file in sorted((annotated / "model" / "d2t-eval" / "test").glob("*/annotations.jsonl")):
        for output, spans in _annotations(file, D2T_EVAL, outputs, key_of, note):
            output.judges[file.parent.name.replace("-", "_")] = spans
    return outputs.values()


QUINTD = Collection("quintd", ("Incorrect", "Not checkable", "Misleading", "Other"), _read_quintd, ("", "_spans"))
D2T_EVAL = Collection(
    "d2teval",
    ("Contradictory", "Not checkable", "Misleading", "Incoherent", "Repetitive", "Other"),
    _read_d2t_eval,
    ("spans_", ""),
    "test",
)


def _annotations(
    file: Path,
    collection: Collection,
    outputs: Mapping[Key, LlmOutput],
    key_of: Callable[[Any], Key | None],
    note: Note,
) -> Iterator[tuple[LlmOutput, list[Span]]]:
    """The outputs that a file of annotations names, each with its spans in the order of the text."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{file.parent.name}/{file.name}:{number}"
        try:
            found = json.loads(line)
            if (key := key_of(found)) is None:
                continue
            output = outputs[key]
            spans = [_marked(one, output, collection) for one in found["annotations"]]
        except _UNREADABLE as error:
            note(f"{where}: an annotation that cannot be read ({type(error).__name__})")
            continue
        if lost := spans.count(None):
            note(f"{where}: spans that are not in the text: {lost}")
        yield output, sorted((span for span in spans if span is not None), key=lambda span: int(span["char_start"]))


def _marked(one: Mapping[str, Any], output: LlmOutput, collection: Collection) -> Span | None:
    """An annotated span; one whose offset is wrong is moved to where its text occurs once, otherwise ``None``."""
    text, start, said = output.text, int(one["start"]), str(one["text"] or "")
    category = collection.categories[int(one["type"])]
    if not said:  # of an output that is nothing but punctuation
        return output.span(start, len(text) if not text.strip(" .") else start, category)
    if start < 0 or text[start : start + len(said)] != said:
        if text.count(said) != 1:
            return None
        start = text.index(said)
    return output.span(start, start + len(said), category)


def _from_parquet(path: Path, collection: Collection) -> Iterator[LlmOutput]:
    names, (before, behind) = pq.read_schema(path).names, collection.judges
    if missing := [name for name in _NEEDED if name not in names]:
        raise InputError(f"{path} has no column {missing[0]!r}; it needs {', '.join(_NEEDED)}")
    columns = [n for n in names if n.startswith(before) and n.endswith(behind) and not n.startswith("human")]
    for row in pq.read_table(path).to_pylist():
        if collection.split is not None and row.get("split", collection.split) != collection.split:
            continue
        output = LlmOutput(row["domain"], row["model"], int(row["example_idx"]), row["data"], row["text"])

        def placed(spans: Iterable[Mapping[str, Any]], output: LlmOutput = output) -> list[Span]:
            return [output.span(one["start"], one["end"], one["type"]) for one in spans if one["start"] is not None]

        one = row.get("human_spans")
        output.human = [
            placed(spans) for spans in row.get("human_spans_by_annotator") or ([] if one is None else [one])
        ]
        for column in columns:
            if row[column] is not None:
                output.judges[column.removeprefix(before).removesuffix(behind)] = placed(row[column])
        yield output
