from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import families
from scorer.inference.bundle import Bundle
from scorer.inference.texts import TextTokenizer
from tests.bundles import make_bundle


def test_the_pairs_of_a_bundle_are_all_computed_in_each_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a pass that takes two seconds by definition."""
    folder = make_bundle(tmp_path / "tiny", precisions=("fp32", "int8"), max_length=512)
    monkeypatch.setattr(families, "timed", lambda one_pass: {"answers": one_pass(), "seconds": 2.0, "others": 0.5})
    found = families.measure(folder, pairs=12, rounds=3)
    premises, hypotheses = families.texts(12)
    pairs = set(zip(premises, hypotheses, strict=True))
    tokenizer = TextTokenizer(Bundle.load(folder))
    lengths = [len(tokenizer.join(*pair)) for pair in pairs]
    assert found == {
        "tokens": round(sum(lengths) / len(pairs), 1),
        "rates": {"fp32": len(pairs) / 2, "int8": len(pairs) / 2},
        "computed": {"fp32": 3 * len(pairs), "int8": 3 * len(pairs)},
        "others": 0.5,
    }


@pytest.mark.slow  # exports
def test_a_size_is_exported_measured_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="exports need the extra `export`")
    out = tmp_path / "families.json"
    families.main(["bert-tiny", "--pairs", "4", "--rounds", "1", "--folder", str(tmp_path / "made"), "--out", str(out)])
    (one,) = json.loads(out.read_text())["sizes"]
    assert one["name"] == "bert-tiny" and set(one["rates"]) == {"fp32", "int8"}
    assert "| `bert-tiny` |" in capsys.readouterr().out
    assert not (tmp_path / "made" / "bert-tiny").exists()
