"""Bundles of families that differ most through the commands: run, --exact, --reuse, explain."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from export import export_bundle
from scorer.commands import app
from tests.export.architectures.tiny import make_checkpoint

# transformers decorates functions of DeBERTa and ModernBERT with torch.jit.script when their modules are imported.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
TEXTS = ["Blue Spice is a pub.", "Blue Spice is a pub by the river.", "The Mill is cheap.", ""]


def command(*args: object) -> str:
    done = CliRunner().invoke(app, list(map(str, args)))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "modernbert", "bart"])
def test_a_family_runs_through_the_commands(name: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(tmp_path / name, name, apart=3.0)  # as in a trained model, int8 keeps the labels
    bundle = export_bundle(str(checkpoint), tmp_path / "bundle", force=True, log=lambda _: None)
    triples = [[{"subject": "Blue Spice", "predicate": "eatType", "object": "pub"}]] * len(TEXTS)
    pq.write_table(pa.table({"triples": triples, "text": TEXTS}), tmp_path / "in.parquet")
    common = (tmp_path / "in.parquet", "--bundle", bundle, "--device", "cpu")
    command("run", *common, "--out", tmp_path / "fp32", "--precision", "fp32")
    fine = pq.read_table(tmp_path / "fp32" / "in.parquet")["fine"].to_pylist()
    command("run", *common, "--out", tmp_path / "exact", "--precision", "int8", "--exact")
    command("run", *common, "--out", tmp_path / "reused", "--precision", "fp32", "--reuse", tmp_path / "fp32")
    for out in ("exact", "reused"):
        assert pq.read_table(tmp_path / out / "in.parquet")["fine"].to_pylist() == fine
    assert fine == ["OK", "OK", "OK", "omission"]
    assert json.loads((tmp_path / "reused" / "_run.json").read_text())["rows"]["reused"] > 0
    explained = command("explain", tmp_path / "fp32", "--row", "in.parquet:0", "--json")
    assert json.loads(explained)
