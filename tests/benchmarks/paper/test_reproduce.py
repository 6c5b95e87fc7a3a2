"""The reproduction, fed with probabilities made up beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from benchmarks.paper import figures
from benchmarks.paper.__main__ import app
from benchmarks.paper.reproduce import CONDITIONS, prepare, reproduce
from scorer.errors import ColumnError, InputError, UsageError
from scorer.metric.fact_templates import Templates
from tests.bundles import RESTAURANTS
from tests.evaluation.scored import SIGNATURE, save, scored

E2E = pa.table(
    {
        "triples": [[{"subject": "Aromi", "predicate": "eatType", "object": "pub"}]] * 4,
        "text": ["Aromi is a pub.", "Aromi.", "Aromi is an Italian pub.", "Aromi is a pub."],
        "gold_fine": ["OK", "omission", "hallucination", "OK"],
    }
)
WEBNLG = pa.table(
    {
        "triples": [[{"subject": "Bean", "predicate": "birthPlace", "object": "Texas"}]] * 4,
        "text": ["Bean was born in Texas.", "Bean.", "Texas.", ""],
        "human_semantics": [3.0, 2.0, 1.5, 1.0],
        "gold_rough": ["OK", "not_OK", "not_OK", "not_OK"],
    }
)
LABELS = {"e2e": ["OK", "omission", "hallucination", "OK"], "webnlg": ["OK", *["omission+hallucination"] * 3]}
CONFIDENCE = {"e2e": [0.9, 0.8, 0.05, 0.9], "webnlg": [0.7, 0.05, 0.05, 0.0]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(E2E, folder / "e2e_primary.parquet")
    pq.write_table(WEBNLG, folder / "webnlg17_humeval.parquet")
    (folder / "e2e.json").write_text('{"eatType": ["<subject> is a <object> ."]}')
    (folder / "webnlg.json").write_text('{"birthPlace": ["<subject> was born in <object> ."]}')
    return folder


def _score(source: Path, templates: Path, folder: Path, protocol: str) -> None:
    """A run: with templates all labels are right, by backoff none is OK."""
    table, data = pq.read_table(source), source.name.split("-")[0]
    labels = LABELS[data] if templates.name != "backoff.json" else ["omission+hallucination"] * 4
    made = scored(labels)
    for name, column in {"fine": made["fine"], "confidence": CONFIDENCE[data], "error": made["error"]}.items():
        table = table.append_column(name, column if isinstance(column, pa.ChunkedArray) else [column])
    save(table, folder / source.name, SIGNATURE)


def _templates(data: Path) -> dict[str, Path]:
    return {"e2e": data / "e2e.json", "webnlg": data / "webnlg.json"}


def test_figures_by_hand(data: Path, tmp_path: Path) -> None:
    lines = reproduce(data, _templates(data), tmp_path / "out", _score, resamples=0)
    found = {(line["data"], line["templates"], line["protocol"]): line for line in lines}
    assert list(found) == CONDITIONS
    default = found["e2e", "Default", "paper"]
    assert default["ours"]["fine.accuracy"] == 1
    assert default["ours"]["rough.f1"] == 1
    assert default["published"]["fine.accuracy"] == 0.911
    assert default["difference"]["fine.accuracy"] == pytest.approx(0.089)
    assert default["n"] == 4
    backoff = found["e2e", "Backoff", "paper"]
    assert backoff["ours"]["rough.accuracy"] == 0.5, "no backoff fact is entailed: everything is not_OK"
    assert backoff["ours"]["rough.recall"] == 1
    assert backoff["published"]["rough.recall"] == 0.913
    webnlg = found["webnlg", "Default", "nlgi_eval"]
    assert webnlg["ours"]["rough.accuracy"] == 1
    assert webnlg["ours"]["fine.accuracy"] is None and webnlg["published"]["rho"] == 0.628
    # Confidences .7 .05 .05 0 of scores 3 2 1.5 1: one tie.
    assert webnlg["ours"]["rho"] == pytest.approx(9 / np.sqrt(90))


def test_the_code_gets_its_own_slot_names_and_nan(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = {c.name: pair for c, pair in prepare(data, _templates(data), out).items()}
    source, templates = files["e2e-nlgi_eval-default"]
    assert pq.read_table(source)["triples"][0][0]["predicate"].as_py() == "eat_type"
    assert json.loads(templates.read_text())["$aliases"] == {"eat_type": "eatType"}
    assert pq.read_table(files["e2e-paper-default"][0])["triples"].to_pylist() == E2E["triples"].to_pylist()
    assert pq.read_table(files["webnlg-nlgi_eval-backoff"][0])["text"].to_pylist()[3] == "nan"
    assert pq.read_table(files["webnlg-paper-backoff"][0])["text"].to_pylist()[3] == ""
    assert Templates.load(files["webnlg-paper-backoff"][1]) is not None


def test_one_model_for_all(data: Path, tmp_path: Path) -> None:
    def other(source: Path, templates: Path, folder: Path, protocol: str) -> None:
        _score(source, templates, folder, protocol)
        if folder.name == "webnlg-paper-default":
            path = folder / source.name
            save(pq.read_table(path), path, SIGNATURE.replace("hand@0", "hand@1"))

    with pytest.raises(UsageError, match=r"different models \(model: hand@0 → hand@1\)"):
        reproduce(data, _templates(data), tmp_path / "out", other, resamples=0)


def test_gold_is_looked_for_before_anything_is_scored(data: Path, tmp_path: Path) -> None:
    def never(source: Path, templates: Path, folder: Path, protocol: str) -> None:
        raise AssertionError("nothing is to be scored")

    pq.write_table(WEBNLG.drop_columns("human_semantics"), data / "webnlg17_humeval.parquet")
    with pytest.raises(ColumnError, match=r"webnlg17_humeval\.parquet has no human_semantics; docs/reproduce\.md"):
        reproduce(data, _templates(data), tmp_path / "out", never)


def test_the_figures_name_all_missing_files_first(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"st_texts\.parquet.*quintd_public\.parquet"):
        figures.commands(["basketball", "quintd"], data, "embedded", tmp_path)
    with pytest.raises(UsageError, match="no section 'x'"):
        figures.commands(["x"], data, "embedded", tmp_path)


def test_the_commands_of_the_figures_are_those_that_exist(shared_data: Path, tmp_path: Path) -> None:
    steps = figures.commands(figures.SECTIONS, shared_data.parent, "embedded", tmp_path)
    assert len(steps) > 20
    assert {step[2] for step in steps} == {
        "scorer", "benchmarks.paper", "benchmarks.paper.rivals", "benchmarks.paper.spans", "benchmarks.paper.challenge",
    }  # fmt: skip


@pytest.mark.slow
def test_with_the_embedded_model_and_once_more(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call = ["tables", "--bundle", str(RESTAURANTS), "--data", str(data), "--out", str(out), "--json"]
    call += ["--templates-e2e", str(data / "e2e.json"), "--templates-webnlg", str(data / "webnlg.json")]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.stderr
    lines = json.loads(result.stdout)
    assert lines == json.loads((out / "figures.json").read_text())
    assert [(line["n"], line["errors"]) for line in lines] == [(4, 0)] * 8
    assert all(f"|protocol:{line['protocol']}|" in line["signature"] for line in lines)
    receipts = {path: path.stat().st_mtime_ns for path in out.glob("*/_receipts/*.json")}
    assert len(receipts) == 8
    assert json.loads(CliRunner().invoke(app, call).stdout) == lines
    assert {path: path.stat().st_mtime_ns for path in receipts} == receipts, "no run was done twice"
