"""BERTScore by hand, and as a baseline with a small encoder that anybody can follow."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnx import TensorProto, helper, numpy_helper

from scorer.errors import BundleError
from scorer.evaluation.baselines.bertscore import Embedded, match
from scorer.inference.bundle import Bundle
from scorer.inference.encoder import EncoderBundle
from tests.bundles import WIDTH, digest, make_bundle, tokenizer, weights
from tests.conftest import ROOT
from tests.run.calls import scorer

TEXTS = ["The Mill serves food.", "  Blue Spice Z  ", "", None, "The Mill"]
REFERENCES = [["Alan Bean", "The Mill serves cheap food."], ["Blue Spice is a pub."], ["x"], ["x"], None]


def embedded(*tokens: tuple[float, float], own: tuple[float, ...]) -> Embedded:
    return Embedded(np.array(tokens, np.float32), np.array([0.0, *own, 0.0]))


START, END, A, B = (1.0, 0.0), (-1.0, 0.0), (0.6, 0.8), (0.0, 1.0)


def test_a_token_may_be_matched_with_a_special_one_and_nothing_has_no_score() -> None:
    assert match(embedded(START, START, END, own=(1,)), embedded(START, B, END, own=(1,)))[0] == pytest.approx(1)
    assert match(embedded(START, END, own=()), embedded(START, B, END, own=(1,))) == (0, 0, 0)
    precision, recall, f1 = match(embedded(START, A, END, own=(0,)), embedded(START, A, END, own=(1,)))
    assert math.isnan(precision) and recall == pytest.approx(1) and math.isnan(f1)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Embeddings are rows of the table of :func:`tests.bundles.weights`, whatever stands around a token."""
    path = tmp_path_factory.mktemp("encoder") / "tiny"
    path.mkdir()
    made = tokenizer()
    made.save(str(path / "tokenizer.json"))
    table = weights(made.get_vocab_size())[0]
    shape = ["batch", "sequence"]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["states"]),
            helper.make_node("Cast", ["attention_mask"], ["float"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["float", "two"], ["mask"]),
            helper.make_node("Mul", ["states", "mask"], ["last_hidden_state"]),
        ],
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, WIDTH])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([2]), "two")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path / "m.onnx")
    manifest = json.loads((ROOT / "tests" / "inference" / "fixtures" / "encoder.json").read_text())
    manifest |= {"name": "tiny", "blank_first": False, "layer": 1, "width": WIDTH, "max_length": 16, "model": "m.onnx"}
    manifest["files"] = {name: digest(path / name) for name in ("tokenizer.json", "m.onnx")}
    (path / "bundle.json").write_text(json.dumps(manifest))
    return path


def by_hand(text: str, references: list[str], idf: dict[int, float] | None = None) -> list[float]:
    """Precision, recall and F1, one token at a time."""
    made = tokenizer()
    table = weights(made.get_vocab_size())[0].astype(np.float64)

    def ids(said: str) -> list[int]:
        return [0, *made.encode(said.strip(), add_special_tokens=False).ids[:14], 2]

    def weight(token: int) -> float:
        return 0.0 if token in (0, 2) else 1.0 if idf is None else idf.get(token, idf[-1])

    def cosine(a: int, b: int) -> float:
        return float(table[a] @ table[b] / np.linalg.norm(table[a]) / np.linalg.norm(table[b]))

    def side(mine: list[int], theirs: list[int]) -> float:
        if len(mine) == 2 or len(theirs) == 2:
            return 0.0
        return sum(weight(a) * max(cosine(a, b) for b in theirs) for a in mine) / sum(map(weight, mine))

    found = []
    for reference in references:
        p, r = side(ids(text), ids(reference)), side(ids(reference), ids(text))
        found.append((p, r, 2 * p * r / (p + r) if p + r else 0.0))
    return np.max(found, axis=0).tolist()


def scored(encoder: Path, tmp_path: Path, *more: str) -> pa.Table:
    table = pa.table({"triples": [["a | b | c"]] * len(TEXTS), "text": TEXTS, "references": REFERENCES})
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    scorer(
        "baseline", "bertscore", tmp_path / "in.parquet", "--encoder", encoder, *more, "--out", out, "--device", "cpu"
    )
    return pq.read_table(out)


def rows_of(found: pa.Table) -> list[list[float]]:
    return np.array([found[f"bertscore_{name}"].to_pylist() for name in ("precision", "recall", "f1")]).T.tolist()


def test_columns_are_those_of_a_plain_loop(encoder: Path, tmp_path: Path) -> None:
    found = scored(encoder, tmp_path)
    rows = rows_of(found)
    for row, text, references in zip(rows[:3], TEXTS, REFERENCES, strict=False):
        assert row == pytest.approx(by_hand(text or "", references or []), abs=1e-5)
    assert rows[2] == [0, 0, 0] and rows[3] == rows[4] == [None] * 3
    signature = found.schema.metadata[b"d2t_scorer.signature"].decode()
    sha = digest(encoder / "bundle.json")[:12]
    assert signature == f"baseline:bertscore|metric:1|encoder:tiny@{sha}|layer:1|idf:no"


def test_idf_is_of_the_references_of_all_inputs(encoder: Path, tmp_path: Path) -> None:
    found = scored(encoder, tmp_path, "--idf")
    made = tokenizer()
    documents = [set(made.encode(text).ids) for text in dict.fromkeys(r for given in REFERENCES for r in given or ())]
    idf = {t: math.log((len(documents) + 1) / (sum(t in d for d in documents) + 1)) for t in set().union(*documents)}
    idf[-1] = math.log(len(documents) + 1)
    for row, text, references in zip(rows_of(found)[:2], TEXTS, REFERENCES, strict=False):
        assert row == pytest.approx(by_hand(text or "", references or [], idf), abs=1e-5)
    assert b"|idf:no" not in found.schema.metadata[b"d2t_scorer.signature"]


def test_bundles_of_the_other_kind_and_options_of_others_are_refused(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"gives embeddings .* and is not a classifier"):
        Bundle.load(encoder)
    with pytest.raises(BundleError, match="is a bundle of a classifier"):
        EncoderBundle.load(make_bundle(tmp_path / "nli"))
    for given, said in (
        (["bertscore", "x"], "bertscore needs --encoder BUNDLE"),
        (["overlap", "x", "--idf"], "--encoder, --idf and --device apply to the baseline bertscore"),
    ):
        assert said in scorer("baseline", *given, "--out", tmp_path / "o.parquet", code=2).stderr
