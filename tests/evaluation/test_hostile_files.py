"""Span files and collections that are damaged or hostile: an error of one line, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from tests.evaluation.scored import save, scored_texts


def scorer(*arguments: Any) -> Any:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output and "internal error" not in result.output
    assert result.exit_code != 2 or result.stderr.strip(), "an error says what is wrong"
    return result


RAW = [b"\xff\xfe", b"[" * 100_000, b'{"schema": 1e400}']


def written(content: pa.Table | bytes, path: Path) -> Path:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        pq.write_table(content, path)
    return path


def spans(**columns: Any) -> pa.Table:
    given = {"text_id": ["t1"], "char_start": [0], "char_end": [3], "category": ["x"], **columns}
    return pa.table({name: values for name, values in given.items() if values is not None})


SPANS: list[pa.Table | bytes] = [
    spans(char_start=[2**63 - 1], char_end=[2**63 - 1]),
    spans(char_start=[float("nan")]),
    spans(text_id=[["t1"]]),
    spans(text_id=None),
    spans(annotator=[None]),
    spans(is_gold_error=["x"], sentence=[7], span=[b"\xff"]),
    spans(char_start=None, char_end=None, sentence=[["x"]], span=[{"a": 1}]),
    spans(item_id=[None], annotator=["a"], label=[["x"]]),
    spans(flagged=["maybe"]),
    b"text_id,text_id,start,end\n1,1,2,3\n",
]


@pytest.mark.parametrize("content", [*SPANS, *RAW[:2]], ids=lambda content: repr(content)[:40])
def test_hostile_spans_are_refused_or_counted(tmp_path: Path, content: pa.Table | bytes) -> None:
    path = written(content, tmp_path / ("hostile.csv" if isinstance(content, bytes) else "hostile.parquet"))
    out = save(scored_texts({"t1": ("text", [(0, 4, 0.2)])}), tmp_path / "out.parquet")
    gold = written(spans(), tmp_path / "gold.parquet")
    for arguments in (
        ("evaluate", out, "--spans", path, "--rivals", path),
        ("evaluate", path, "--spans", gold),
        ("evaluate", out, "--spans", gold, "--annotations", path),
    ):
        assert scorer(*arguments, "--resamples", 10).exit_code in (0, 2)


ANNOTATED = [
    {"domain": ["wikidata"]},
    {"domain": [None], "model": [None], "example_idx": [None], "data": [None], "text": [None]},
    {"domain": [["wikidata"]], "model": [{"a": 1}], "example_idx": [1], "data": ["[" * 9999], "text": ["t"]},
    {"domain": ["football"], "model": ["m"], "example_idx": [1], "data": ['{"teams": [1]}'], "text": ["t"],
     "human_spans": [[{"start": 5, "end": 1, "type": None}]], "spans_x": [[{"start": None, "end": 1, "type": "y"}]]},
    {"domain": ["gsmarena"], "model": ["m"], "example_idx": [1], "data": ['{"details": {"name": 1, "detailSpec": 7}}'],
     "text": ["t"], "human_spans_by_annotator": [3], "spans_": ["x"]},
]  # fmt: skip


@pytest.mark.parametrize("content", [*ANNOTATED, b"PAR1" * 10], ids=lambda content: repr(content)[:40])
def test_hostile_collections_are_refused_or_reported(tmp_path: Path, content: dict[str, Any] | bytes) -> None:
    path = written(content if isinstance(content, bytes) else pa.table(content), tmp_path / "in.parquet")
    names = [tmp_path / f"{name}.parquet" for name in ("rows", "spans", "judges")]
    result = scorer("convert", "d2t-eval", path, "--out", names[0], "--spans", names[1], "--judge-spans", names[2])
    assert result.exit_code in (0, 2)
    assert result.exit_code == 0 or not any(name.exists() for name in names)


ANNOTATION = (
    '{"dataset": "openweather", "model": "m", "table_idx": 0, "annotations": [{"start": 0, "type": 0, "text": ""}]}'
)


@pytest.mark.parametrize(
    ("place", "name", "annotation", "code", "what"),
    [
        ("Milford", "m", ANNOTATION, 0, ""),
        ("Mil\\ud800", "m", ANNOTATION, 0, "half of a surrogate pair"),
        ("Milford", "m\ud800", ANNOTATION, 2, "that cannot be read"),
        ("Milford", "m", ANNOTATION.replace(": 0,", ": 1e999,"), 2, "that cannot be read"),
        ("Milford", "m", "[" * 100_000, 2, "that cannot be read"),
        ("Milford", "m", ANNOTATION[:40], 2, "that cannot be read"),
        ("Milford", "m", "5", 2, "that cannot be read"),
    ],
)
def test_a_hostile_line_of_a_collection_costs_itself(
    tmp_path: Path, place: str, name: str, annotation: str, code: int, what: str
) -> None:
    data = {"in": '{"city": {"name": "' + place + '"}}', "out": "a text"}
    content = {"dataset": "openweather", "model": name, "generated": [data]}
    for file, text in (("outputs/test/a.json", json.dumps(content)), ("annotations/human/a.jsonl", annotation)):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text)
    result = scorer("convert", "quintd", tmp_path, "--out", tmp_path / "o.parquet")
    assert result.exit_code == code
    assert what in result.stderr
    assert (tmp_path / "o.parquet").exists() == (code == 0)
