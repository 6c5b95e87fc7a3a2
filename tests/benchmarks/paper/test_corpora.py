"""Files of Quintd and D2T-Eval → input rows and error spans: hand-made files of their form, and the prepared data."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.paper.spans.corpora import D2T_EVAL, QUINTD, convert

WIKIDATA = "Blue Spice\n---\n- instance of: pub\n- located in: Karlholm: old town"


def write(path: Path, *lines: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line) for line in lines))


def spans(*marked: tuple[int, str, int]) -> list[dict[str, Any]]:
    return [{"start": start, "text": text, "type": kind} for start, text, kind in marked]


def quintd(folder: Path) -> Path:
    """A folder of the repository's form: two models, one input, one of them annotated by two people and GPT-4."""
    prompt = f"Based on the given data:\n```\n{WIKIDATA}\n```\n\nYour task is to write."
    for model, text in (("llama2", "Blue Spice is a bar."), ("zephyr", ".")):
        generated = [{"in": prompt, "out": text}, {"in": prompt, "out": "x"}]
        content = {"dataset": "wikidata", "model": model, "generated": generated}
        write(folder / f"outputs/test/wikidata/default/{model}.json", content)

    def line(model: str, *marked: tuple[int, str, int]) -> dict[str, Any]:
        return {"dataset": "wikidata", "model": model, "table_idx": 0, "annotations": spans(*marked)}

    people = folder / "annotations"
    write(people / "human/0.jsonl", line("llama2", (14, "a bar", 0)), line("zephyr", (0, "", 3)))
    write(people / "human_corr/0.jsonl", line("llama2", (16, "bar", 1), (0, "Blue", 2)))
    write(people / "human_corr/1.jsonl", line("llama2", (14, "a bar", 0)))
    write(people / "gpt-4/a.jsonl", line("llama2"), line("nobody", (0, "x", 0)))
    return folder


def test_the_files_of_quintd(tmp_path: Path) -> None:
    said: list[str] = []
    rows_, spans_, judged_ = convert(QUINTD, quintd(tmp_path / "quintd-1"), said.append)
    rows = rows_.to_pylist()
    assert [(row["text_id"], row["gold_rough"], row["gpt4_rough"]) for row in rows] == [
        ("quintd-wikidata-0-llama2", "not_OK", "OK"),
        ("quintd-wikidata-0-zephyr", "OK", None),
    ]
    facts = [tuple(fact.values()) for fact in rows[0]["triples"]]
    assert facts == [("Blue Spice", "instance of", "pub"), ("Blue Spice", "located in", "Karlholm: old town")]
    assert (rows[0]["example"], rows[0]["system"]) == ("wikidata-0", "llama2")
    assert [tuple(row.values())[4:] for row in spans_.to_pylist()] == [
        ("0", 14, 19, "Incorrect", "a bar"),
        ("1", 0, 4, "Misleading", "Blue"),
        ("1", 16, 19, "Not checkable", "bar"),
        ("0", 0, 1, "Other", "."),
    ]
    assert judged_["text_id"].to_pylist() == ["quintd-wikidata-0-llama2"]
    assert judged_["category"].null_count == 1
    assert said == ["gpt-4/a.jsonl:2: an annotation that cannot be read (KeyError)"]


def test_the_prepared_data_of_quintd_has_its_published_counts(shared_data: Path) -> None:
    """The triples were made by another program; the counts are those of the data's README."""
    path = shared_data.parent / "quintd" / "quintd_public.parquet"
    rows_, spans_, judged_ = convert(QUINTD, path)
    prepared = pq.read_table(path, columns=["triples", "id"])
    assert rows_["triples"].to_pylist() == prepared["triples"].to_pylist()
    assert rows_["text_id"].to_pylist() == prepared["id"].to_pylist()
    main = [row["category"] for row in spans_.to_pylist() if row["annotator"] == "0"]
    counts = {name: main.count(name) for name in ("Incorrect", "Not checkable", "Misleading", "Other", None)}
    assert counts == {"Incorrect": 1783, "Not checkable": 1148, "Misleading": 337, "Other": 175, None: 268}
    judged = judged_["category"].to_pylist()
    assert (judged.count("Incorrect"), judged.count(None), len(judged)) == (3146, 140, 4302)
    assert rows_["gold_rough"].to_pylist().count("not_OK") == 592  # 49.3 % of 1,200


MATCH = {"teams": {"home": {"name": "A"}, "away": {"name": "B"}}, "endGoals": {"home": 2, "away": None}}
FORECAST = {"city": {"name": "Milford"}, "list": [{"dt_txt": "2025-02-10 00:00:00", "main": {"temp": 2.60}}]}
TEXT = "A beat B 2-0. A beat B."


def d2t_eval(root: Path) -> Path:
    """One match and one forecast; a model whose name is written in two ways, two people, two annotating models."""
    write(root / "inputs/d2t-eval/d2t-football/test.json", [MATCH])
    write(root / "inputs/d2t-eval/d2t-openweather/test.json", {"forecasts": [FORECAST]})

    def line(dataset: str, model: str, **more: Any) -> dict[str, Any]:
        return {"dataset": f"d2t-{dataset}", "split": "test", "example_idx": 0, "setup_id": model, **more}

    write(root / "outputs/d2t-eval/llama3-3/a-test.jsonl", line("football", "llama3.3", output=TEXT))
    write(root / "outputs/d2t-eval/llama3-3/a-dev.jsonl", line("football", "llama3.3", output="dev"))
    write(root / "outputs/d2t-eval/gpt4o/b-test.jsonl", line("openweather", "gpt4o", output="Warm."))
    write(
        root / "annotations/human/d2t-eval/test/annotations.jsonl",
        line("football", "llama3-3", annotations=spans((9, "2-0", 0))),
        line("football", "llama3-3", annotations=spans((14, "A", 4))),
        line("football", "llama3-3", annotations=spans((0, "x", 0))) | {"split": "iaa"},
        line("openweather", "gpt4o", annotations=[]),
    )
    # The first offset is wrong, and its text occurs once; the second text occurs twice, the third not at all.
    moved = line("football", "llama3-3", annotations=spans((3, "2-0", 1), (5, "beat", 0), (0, "draw", 0)))
    judge = root / "annotations/model/d2t-eval/test/o3-mini/annotations.jsonl"
    write(judge, moved, line("football", "nobody", annotations=[]))
    return root


def test_the_files_of_d2t_eval(tmp_path: Path) -> None:
    said: list[str] = []
    rows_, spans_, judged_ = convert(D2T_EVAL, d2t_eval(tmp_path), said.append)
    rows = {row["text_id"]: row for row in rows_.to_pylist()}
    facts = rows["d2teval-football-0-llama3-3"]["triples"]
    assert [tuple(fact.values()) for fact in facts] == [
        ("A – B", "teams.home.name", "A"),
        ("A – B", "teams.away.name", "B"),
        ("A – B", "end goals.home", "2"),
    ]
    assert {name: (row["gold_rough"], row["o3_mini_rough"], row["text"]) for name, row in rows.items()} == {
        "d2teval-football-0-llama3-3": ("not_OK", "OK", TEXT),
        "d2teval-openweather-0-gpt4o": ("OK", None, "Warm."),
    }
    spans = [tuple(row.values())[4:] for row in spans_.sort_by("text_id").to_pylist()]
    assert spans == [
        ("0", 9, 12, "Contradictory", "2-0"),
        ("1", 14, 15, "Repetitive", "A"),
        ("0", None, None, None, None),
    ]
    assert [tuple(row.values())[4:] for row in judged_.to_pylist()] == [("o3_mini", 9, 12, "Not checkable", "2-0")]
    assert said == [
        "o3-mini/annotations.jsonl:1: spans that are not in the text: 2",
        "o3-mini/annotations.jsonl:2: an annotation that cannot be read (KeyError)",
    ]


def test_the_prepared_data_of_d2t_eval_has_its_published_counts(shared_data: Path) -> None:
    """The file was made by another program; 712 of its 715 rows are of the test split."""
    path = shared_data.parent / "field" / "d2teval_test.parquet"
    rows_, spans_, judged_ = convert(D2T_EVAL, path)
    prepared = [row for row in pq.read_table(path).to_pylist() if row["split"] == "test"]
    assert rows_["text_id"].to_pylist() == [row["id"].replace("-test-", "-") for row in prepared]
    expected = Counter(span["type"] for row in prepared for one in row["human_spans_by_annotator"] for span in one)
    marked = Counter(row["category"] for row in spans_.to_pylist() if row["category"])
    assert marked == expected
    assert len(set(judged_["annotator"].to_pylist())) == 6
