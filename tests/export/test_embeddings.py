"""Encoders as bundles of embeddings, against transformers' own states and the package bert-score."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModel, PreTrainedTokenizerFast
from typer.testing import CliRunner

from export import export_embeddings
from scorer.commands import app
from scorer.errors import CheckpointError, UsageError
from scorer.inference.encoder import Encoder, EncoderBundle
from tests.conftest import ROOT
from tests.export.checkpoints import edit_json, make_checkpoint

PACKAGE = ROOT / ".venv-bertscore" / "bin" / "python"
TEXTS = ["Blue Spice is a pub near the river.", "", "The Mill, a naïve café, serves Café food; it costs £20-25. " * 9]
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "layer"), [("bert", 1), ("roberta", 2), ("deberta-v2", 1)])
def test_embeddings_are_the_states_of_a_layer(tmp_path: Path, name: str, layer: int) -> None:
    checkpoint = make_checkpoint(tmp_path / name, name)
    out = export_embeddings(str(checkpoint), tmp_path / "out", layer=layer, log=lambda _: None)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(checkpoint)
    model = AutoModel.from_pretrained(checkpoint, num_hidden_layers=layer, dtype=torch.float32).eval()
    with Encoder(EncoderBundle.load(out), device="cpu") as encoder:
        tokens = encoder.tokens(TEXTS)
        found = encoder.embed(tokens)
    for text, ids, states in zip(TEXTS, tokens, found, strict=True):
        said = f" {text.strip()}" if name == "roberta" and text else text.strip()  # as bert-score writes it
        own = tokenizer(said, return_tensors="pt", truncation=True, max_length=encoder.bundle.max_length)
        assert ids.tolist() == own["input_ids"][0].tolist()
        with torch.inference_mode():
            expected = model(input_ids=own["input_ids"], attention_mask=own["attention_mask"]).last_hidden_state[0]
        expected = torch.nn.functional.normalize(expected, dim=-1).numpy()
        np.testing.assert_allclose(states, expected, atol=2e-5)


def test_what_cannot_be_exported_is_named(checkpoint: Path, copy: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--layer is 3, and .* has layers 1 to 2"):
        export_embeddings(str(checkpoint), tmp_path / "out", layer=3, log=lambda _: None)
    edit_json(copy / "config.json", model_type="gpt2")
    with pytest.raises(CheckpointError, match="model_type is 'gpt2'; embeddings are exported of"):
        export_embeddings(str(copy), tmp_path / "out", log=lambda _: None)
    assert not (tmp_path / "out").exists()


SCRIPT = """
import json, sys
from bert_score import BERTScorer
given = json.load(sys.stdin)
references = [r for group in given["references"] for r in group]
scorer = BERTScorer(model_type=given["model"], num_layers=given["layer"], idf=given["idf"], idf_sents=references,
                    use_fast_tokenizer=True, device="cpu", batch_size=7)
found = scorer.score(given["texts"], given["references"])
json.dump([values.tolist() for values in found], sys.stdout)
"""


@pytest.mark.slow
@pytest.mark.skipif(not (PACKAGE.parent.parent / "installed").exists(), reason="make test-slow installs bert-score")
@pytest.mark.parametrize(("name", "idf"), [("bert", False), ("electra", True)])
def test_the_package_bert_score_gives_the_same(tmp_path: Path, name: str, idf: bool) -> None:
    checkpoint = make_checkpoint(tmp_path / name, name)
    edit_json(checkpoint / "tokenizer_config.json", model_max_length=128)  # which the package cannot do without
    texts = ["Blue Spice is a pub.", "The Mill serves cheap food and drinks.", "Alan Bean was born in 1932.", "a b c"]
    references = [["Blue Spice is a cheap pub near the river.", "A pub, Blue Spice."], ["The Mill is not cheap!"],
                  ["Alan Bean was born on 1932-03-15 in Wheeler, Texas."], ["x y", "It rains.", "c b a"]]  # fmt: skip
    given = {"texts": texts, "references": references, "model": str(checkpoint), "layer": 2, "idf": idf}
    done = subprocess.run([PACKAGE, "-c", SCRIPT], input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    expected = json.loads(done.stdout)
    export_embeddings(str(checkpoint), tmp_path / "out", layer=2, log=lambda _: None)
    table = pa.table({"triples": [["a | b | c"]] * 4, "text": texts, "references": references})
    pq.write_table(table, tmp_path / "in.parquet")
    arguments = ["baseline", "bertscore", tmp_path / "in.parquet", "--encoder", tmp_path / "out", "--device", "cpu"]
    arguments += ["--out", tmp_path / "scored.parquet", *(["--idf"] if idf else [])]
    assert CliRunner().invoke(app, list(map(str, arguments))).exit_code == 0
    scored = pq.read_table(tmp_path / "scored.parquet")
    for column, values in zip(("precision", "recall", "f1"), expected, strict=True):
        assert scored[f"bertscore_{column}"].to_pylist() == pytest.approx(values, abs=1e-4)
