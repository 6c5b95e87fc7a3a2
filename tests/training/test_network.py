"""The plain network is transformers' BERT, and the loss is what its docstring says."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers

from scorer.inference.device import Hardware
from training import network
from training.batches import TrainingBatch
from training.general.objective import KEPT, SMOOTHING, Loss, losses_of
from training.network import Network, Size, layers_type, load_checkpoint, save_checkpoint

SIZE = Size(vocabulary=50, hidden=64, layers=2, inner=96, heads=2, positions=40)


def test_it_computes_what_transformers_computes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    made = Network(SIZE)
    save_checkpoint(dict(made.named_parameters()), SIZE, tmp_path)
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path, dtype=torch.float32).eval()
    ids = torch.randint(5, 50, (3, 24))
    segments = torch.zeros_like(ids)
    segments[:, 10:] = 1
    ids[1, 15:] = 0
    with torch.no_grad():
        expected = theirs(input_ids=ids, token_type_ids=segments, attention_mask=(ids != 0).long()).logits
        found = load_checkpoint(tmp_path)(ids, segments)
    assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("device", "processor", "type_"),
    [
        ("cpu", "EPYC avx2", torch.float32),
        ("cpu", "EPYC avx2 avx512f avx512_bf16", torch.bfloat16),
        ("cuda", "EPYC avx2", torch.bfloat16),
    ],
)
def test_layers_are_bfloat16_where_the_processor_has_it(
    device: str, processor: str, type_: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "KINDS", {"cpu": SimpleNamespace(hardware=lambda index: Hardware(processor))})
    assert layers_type(device) == type_


def test_not_entailment_is_one_minus_entailment() -> None:
    p = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    logits = p.log()
    smooth = [SMOOTHING * sum(math.log(x) for x in row) / 3 for row in p.tolist()]
    for labels, hits in (((2, 0), (0.5, 0.6)), ((3, 3), (0.5, 0.9))):
        expected = -sum((1 - SMOOTHING) * math.log(h) + s for h, s in zip(hits, smooth, strict=True)) / 2
        assert float(losses_of(logits, torch.tensor(labels)).mean()) == pytest.approx(expected, rel=1e-5)


def test_an_earlier_network_is_a_target_where_it_is_right() -> None:
    """Of four pairs it finds every one entailed: right for the first, for no other."""

    class Earlier(Network):
        def forward(self, ids: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
            return torch.tensor([0.1, 0.2, 0.7]).log().expand(len(ids), 3)

    torch.manual_seed(0)
    ids, label = torch.ones(4, 3, dtype=torch.int64), torch.tensor([2, 0, 1, 3])
    logits = torch.randn(4, 3)
    plain = losses_of(logits, label)
    kept = -(torch.tensor([0.1, 0.2, 0.7]) * logits.log_softmax(-1)[0]).sum()
    expected = ((1 - KEPT) * plain[0] + KEPT * kept + plain[1:].sum()) / 4
    batch = TrainingBatch(ids, torch.zeros_like(ids), label)
    assert torch.allclose(Loss(Earlier(SIZE), "cpu")(logits, batch), expected, atol=1e-6)
    assert torch.equal(Loss(None, "cpu")(logits, batch), plain.mean())
