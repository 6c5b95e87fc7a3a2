"""The plain network is transformers' BERT, and the loss is what its docstring says."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import transformers

from export.training import network
from export.training.general.objective import SMOOTHING, loss_of
from export.training.network import Network, Size, load_checkpoint, save_checkpoint

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


def test_gradients_of_the_fast_linear_are_autograd_s(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model, ids, label = Network(SIZE), torch.randint(5, 50, (2, 9)), torch.tensor([2, 3])

    def gradients() -> list[torch.Tensor]:
        return list(torch.autograd.grad(loss_of(model(ids, torch.zeros_like(ids)), label), list(model.parameters())))

    found = gradients()
    monkeypatch.setattr(network, "_linear", lambda x, part: part(x))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, gradients(), strict=True))


def test_not_entailment_is_one_minus_entailment() -> None:
    p = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    logits = p.log()
    smooth = [SMOOTHING * sum(math.log(x) for x in row) / 3 for row in p.tolist()]
    for labels, hits in (((2, 0), (0.5, 0.6)), ((3, 3), (0.5, 0.9))):
        expected = -sum((1 - SMOOTHING) * math.log(h) + s for h, s in zip(hits, smooth, strict=True)) / 2
        assert float(loss_of(logits, torch.tensor(labels))) == pytest.approx(expected, rel=1e-5)
