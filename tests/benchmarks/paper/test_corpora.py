"""Files of Quintd and D2T-Eval → input rows and error spans: hand-made files of their form, and the prepared data."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks.paper.spans.corpora import D2T_EVAL, QUINTD, convert
from benchmarks.paper.spans.inputs import read_data
from scorer.metric.facts import Triple

WIKIDATA = "Blue Spice\n---\n- instance of: pub\n- located in: Karlholm: old town"
OWID = "# country: Chile\n# title: Rain\n# unit: mm\ndate,value\n2020,1.5\n2021,\n"
WEATHER = (
    "{'city': {'name': 'Milford'}, 'units': {'temp': '°C'}, 'list': [{'main': {'temp_min': 2.60}, "
    "'weather': [{'main': 'Rain'}, {'main': 'Snow'}], 'dt_txt': '2024-01-03 13:00:00'}]}"
)
PHONE = (
    "{'id': 'x', 'details': {'name': 'Velar X3', 'detailSpec': [{'category': 'Network', 'specifications': "
    "[{'name': '2G bands', 'value': 'GSM '}, {'name': '\\xa0', 'value': 'CDMA'}, {'name': 'Speed', 'value': ''}]}], "
    "'quickSpec': [{'name': 'Display size', 'value': '6\"'}]}}"
)

EXPECTED: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "owid": (OWID, "Chile, Rain", [("country", "Chile"), ("title", "Rain"), ("unit", "mm"), ("value.2020", "1.5")]),
    "openweather": (
        WEATHER,
        "Milford",
        [
            ("city.name", "Milford"),
            ("units.temp", "°C"),
            ("forecast 2024-01-03 13:00:00.main.temp min", "2.6"),
            ("forecast 2024-01-03 13:00:00.weather 1.main", "Rain"),
            ("forecast 2024-01-03 13:00:00.weather 2.main", "Snow"),
            ("forecast 2024-01-03 13:00:00.dt txt", "2024-01-03 13:00:00"),
        ],
    ),
    "gsmarena": (
        PHONE,
        "Velar X3",
        [
            ("id", "x"),
            ("details.name", "Velar X3"),
            ("Network.2G bands", "GSM"),
            ("Network", "CDMA"),
            ("quick spec.Display size", '6"'),
        ],
    ),
}


@pytest.mark.parametrize("domain", EXPECTED)
def test_inputs_become_triples(domain: str) -> None:
    data, subject, expected = EXPECTED[domain]
    assert read_data(domain, data) == [Triple(subject, *one) for one in expected]


@pytest.mark.parametrize(
    ("domain", "data", "error"),
    [
        ("wikidata", "Blue Spice", ValueError),
        ("owid", "date,value\n2020,1", KeyError),
        ("wikidata", "a\n---\n- no colon", ValueError),
        ("owid", "# country: a\n# title: b\nxx", ValueError),
        ("openweather", "__import__('os')", ValueError),
        ("openweather", "[1]", TypeError),
        ("openweather", "{}", KeyError),
        ("gsmarena", "{'details': {'name': 'a', 'detailSpec': [1]}}", TypeError),
    ],
)
def test_inputs_of_another_form_are_errors_and_nothing_is_run(domain: str, data: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_data(domain, data)


def quintd(folder: Path) -> Path:
    """A folder of the repository's form: two models, one input, one of them annotated by two people and GPT-4."""
    outputs = folder / "outputs/test/wikidata/default"
    outputs.mkdir(parents=True)
    prompt = f"Based on the given data:\n```\n{WIKIDATA}\n```\n\nYour task is to write."
    for model, text in (("llama2", "Blue Spice is a bar."), ("zephyr", ".")):
        generated = [{"in": prompt, "out": text}, {"in": prompt, "out": "x"}]
        content = {"dataset": "wikidata", "model": model, "generated": generated}
        (outputs / f"{model}.json").write_text(json.dumps(content))

    def annotate(where: str, model: str, *spans: tuple[int, str, int], number: int = 0) -> None:
        marked = [{"start": start, "text": text, "type": kind} for start, text, kind in spans]
        line = {"dataset": "wikidata", "model": model, "table_idx": number, "annotations": marked}
        file = folder / "annotations" / where
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            out.write(json.dumps(line) + "\n")

    annotate("human/0.jsonl", "llama2", (14, "a bar", 0))
    annotate("human/0.jsonl", "zephyr", (0, "", 3))
    annotate("human_corr/0.jsonl", "llama2", (16, "bar", 1), (0, "Blue", 2))
    annotate("human_corr/1.jsonl", "llama2", (14, "a bar", 0))
    annotate("gpt-4/a.jsonl", "llama2")
    annotate("gpt-4/a.jsonl", "nobody", (0, "x", 0))
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


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = content if isinstance(content, list) else [content]
    path.write_text("\n".join(json.dumps(line) for line in lines))


def d2t_eval(root: Path) -> Path:
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
