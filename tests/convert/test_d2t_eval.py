"""D2T-Eval's files → input rows and error spans: hand-made files of the repository's form, and the prepared data."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scorer.convert import D2T_EVAL, Problems, convert_annotated
from scorer.errors import InputError
from tests.conftest import ROOT

PREPARED = ROOT.parent / "shared/data/field" / "d2teval_test.parquet"
MATCH = {"teams": {"home": {"name": "A"}, "away": {"name": "B"}}, "goals": {"home": 2, "away": None}}
FORECAST = {"city": {"name": "Milford"}, "list": [{"dt_txt": "2025-02-10 00:00:00", "main": {"temp": 2.60}}]}
TEXT = "A beat B 2-0. A beat B."


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = content if isinstance(content, list) else [content]
    path.write_text("\n".join(json.dumps(line) for line in lines))


def repository(root: Path) -> Path:
    """One match and one forecast; a model whose name is written in two ways, two people, two annotating models."""
    (root / "inputs/d2t-eval/d2t-football").mkdir(parents=True)
    (root / "inputs/d2t-eval/d2t-football/test.json").write_text(json.dumps([MATCH]))
    write(root / "inputs/d2t-eval/d2t-openweather/test.json", {"forecasts": [FORECAST]})

    def line(dataset: str, model: str, **more: Any) -> dict[str, Any]:
        return {"dataset": dataset, "split": "test", "example_idx": 0, "setup_id": model, **more}

    write(root / "outputs/d2t-eval/llama3-3/a-test.jsonl", [line("d2t-football", "llama3.3", output=TEXT)])
    write(root / "outputs/d2t-eval/llama3-3/a-dev.jsonl", [line("d2t-football", "llama3.3", output="dev")])
    write(root / "outputs/d2t-eval/gpt4o/b-test.jsonl", [line("d2t-openweather", "gpt4o", output="Warm.")])

    def spans(*marked: tuple[int | None, str, int]) -> list[dict[str, Any]]:
        return [{"start": start, "text": text, "type": kind} for start, text, kind in marked]

    write(
        root / "annotations/human/d2t-eval/test/annotations.jsonl",
        [
            line("d2t-football", "llama3-3", annotations=spans((9, "2-0", 0))),
            line("d2t-football", "llama3-3", annotations=spans((14, "A", 4))),
            {**line("d2t-football", "llama3-3", annotations=spans((0, "x", 0))), "split": "iaa"},
            line("d2t-openweather", "gpt4o", annotations=[]),
        ],
    )
    # The first offset is wrong, and its text occurs once; the second text occurs twice, the third not at all.
    moved = spans((3, "2-0", 1), (5, "beat", 0), (0, "draw", 0))
    write(
        root / "annotations/model/d2t-eval/test/o3-mini/annotations.jsonl",
        [line("d2t-football", "llama3-3", annotations=moved), line("d2t-football", "nobody", annotations=[])],
    )
    return root


def test_the_repositorys_files(tmp_path: Path) -> None:
    said: list[str] = []
    found = convert_annotated(D2T_EVAL, str(repository(tmp_path)), Problems(False, said.append))
    rows = {row["text_id"]: row for row in found.rows.to_pylist()}
    facts = rows["d2teval-football-0-llama3-3"]["triples"]
    assert [tuple(fact.values()) for fact in facts] == [
        ("A – B", "teams.home.name", "A"),
        ("A – B", "teams.away.name", "B"),
        ("A – B", "goals.home", "2"),
    ]
    assert {name: (row["gold_rough"], row["o3_mini_rough"], row["text"]) for name, row in rows.items()} == {
        "d2teval-football-0-llama3-3": ("not_OK", "OK", TEXT),
        "d2teval-openweather-0-gpt4o": ("OK", None, "Warm."),
    }
    spans = [tuple(row.values())[4:] for row in found.spans.sort_by("text_id").to_pylist()]
    assert spans == [
        ("0", 9, 12, "Contradictory", "2-0"),
        ("1", 14, 15, "Repetitive", "A"),
        ("0", None, None, None, None),
    ]
    assert [tuple(row.values())[4:] for row in found.judged.to_pylist()] == [("o3_mini", 9, 12, "Not checkable", "2-0")]
    assert said == [
        "o3-mini/annotations.jsonl:1: spans that are not in the text: 2",
        "o3-mini/annotations.jsonl:2: an annotation that cannot be read (KeyError)",
    ]
    with pytest.raises(InputError, match=r"o3-mini/annotations\.jsonl:1"):
        convert_annotated(D2T_EVAL, str(tmp_path), Problems(True, said.append))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("inputs/d2t-eval/d2t-football/test.json", "{"),
        ("inputs/d2t-eval/d2t-football/test.json", '{"a": 1}'),
        ("outputs/d2t-eval/llama3-3/a-test.jsonl", "[" * 9000),
    ],
)
def test_damaged_files_are_errors(tmp_path: Path, file: str, content: str) -> None:
    (repository(tmp_path) / file).write_text(content)
    with pytest.raises(InputError, match=Path(file).name):
        convert_annotated(D2T_EVAL, str(tmp_path), Problems(True, print))


@pytest.mark.skipif(not PREPARED.is_file(), reason=f"no data at {PREPARED}")
def test_the_prepared_data_has_its_published_counts() -> None:
    """The file was made by another program; 712 of its 715 rows are of the test split."""
    found = convert_annotated(D2T_EVAL, str(PREPARED), Problems(True, print))
    prepared = [row for row in pq.read_table(PREPARED).to_pylist() if row["split"] == "test"]
    assert found.rows["text_id"].to_pylist() == [row["id"].replace("-test-", "-") for row in prepared]
    expected = Counter(span["type"] for row in prepared for one in row["human_spans_by_annotator"] for span in one)
    marked = Counter(row["category"] for row in found.spans.to_pylist() if row["category"])
    assert marked == expected
    assert len(set(found.judged["annotator"].to_pylist())) == 6
