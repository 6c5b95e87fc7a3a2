"""A run with OpenVINO from end to end: what plan and summary record, and what is said without the extra."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.inference import openvino_session
from tests.bundles import make_bundle

TEXTS = ["The Mill is a pub.", "Blue Spice is a coffee shop near Crowne Plaza Hotel.", "", "The Mill is a pub."]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fp32, and OpenVINO's variant, which is the same model under another name."""
    return make_bundle(tmp_path_factory.mktemp("bundles") / "both", precisions=("fp32", "openvino-int8"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    triples = [["The Mill | eatType | pub", f"The Mill | area | {i}"] for i in range(len(TEXTS))]
    pq.write_table(pa.table({"text": TEXTS, "triples": triples}), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def asked(rows: Path, out: Path, bundle: Path, precision: str, *more: str) -> list[str]:
    return ["run", str(rows), "--out", str(out), "--bundle", str(bundle), "--precision", precision, *more]


def test_without_the_extra_a_run_exits_with_2(
    bundle: Path, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    openvino_session.version.cache_clear()
    done = CliRunner().invoke(app, asked(rows, tmp_path / "out", bundle, "openvino-int8", "--device", "cpu"))
    assert done.exit_code == 2
    assert "pip install 'd2t-scorer[openvino]'" in done.stderr and "Traceback" not in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.slow  # processes that variants are tried in
def test_a_run_records_the_runtime_and_agrees_with_fp32(bundle: Path, rows: Path, tmp_path: Path) -> None:
    pytest.importorskip("openvino", reason="needs the extra `openvino`")
    made = {}
    for precision in ("fp32", "openvino-int8"):
        out = tmp_path / precision
        done = CliRunner().invoke(app, asked(rows, out, bundle, precision, "--device", "cpu"))
        assert done.exit_code == 0, done.output
        made[precision] = out
    tables = {precision: pq.read_table(out / "rows.parquet") for precision, out in made.items()}
    assert tables["fp32"]["fine"].to_pylist() == tables["openvino-int8"]["fine"].to_pylist()
    assert tables["fp32"]["row_key"] == tables["openvino-int8"]["row_key"]

    version = openvino_session.version()
    plan = json.loads((made["openvino-int8"] / "_plan.json").read_text())
    summary = json.loads((made["openvino-int8"] / "_run.json").read_text())
    assert (plan["provider"], plan["runtime"]) == ("OpenVINO", f"OpenVINO {version}")
    assert "|prec:openvino-int8|ep:cpu|" in summary["signature"]
    assert summary["versions"]["openvino"] == version
    assert [(origin["runtime"], origin["company_bound"]) for origin in summary["origins"]] == [
        (f"OpenVINO {version}", 0.0)
    ]

    again = CliRunner().invoke(app, asked(rows, made["openvino-int8"], bundle, "openvino-int8", "--device", "cpu"))
    assert again.exit_code == 0
    assert json.loads((made["openvino-int8"] / "_run.json").read_text())["shards"]["skipped"] == 1
    exact = CliRunner().invoke(
        app, asked(rows, tmp_path / "exact", bundle, "openvino-int8", "--device", "cpu", "--exact")
    )
    assert exact.exit_code == 0, exact.output
    explained = CliRunner().invoke(app, ["explain", str(made["openvino-int8"]), "--row", "rows.parquet:0", "--json"])
    assert explained.exit_code == 0, explained.output


@pytest.mark.slow
def test_doctor_says_that_it_starts(bundle: Path) -> None:
    pytest.importorskip("openvino", reason="needs the extra `openvino`")
    done = CliRunner().invoke(app, ["doctor", "--bundle", str(bundle), "--json"])
    found = json.loads(done.stdout)
    assert found["providers"]["OpenVINO"] == "starts"
    assert found["packages"]["openvino"] is not None and found["bundle"]["precision"] == "fp32"
