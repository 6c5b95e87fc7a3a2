"""Rounded products: what is rounded, and that nothing of it stays behind."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="checkpoints need the extra `export`")

from benchmarks import activation_scales as scales  # noqa: E402
from tests.export.architectures.tiny import make_checkpoint  # noqa: E402

PAIRS = [("The Mill is a pub by the river.", "The Mill is a pub."), ("A cafe.", "The Mill serves fish and chips.")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> scales.Model:
    return scales.Model(make_checkpoint(tmp_path_factory.mktemp("scales") / "tiny", "bert"))


def test_rounded_has_255_values_and_keeps_the_ends() -> None:
    x = torch.linspace(-2, 1, 4001)
    found = scales.rounded(x, torch.tensor(2.0))
    assert found.min() == -2 and len(found.unique()) == 127 + 1 + 64
    assert (found - x).abs().max() <= 1 / 127 + 1e-6
    assert scales.rounded(torch.zeros(3), torch.tensor(0.0)).tolist() == [0, 0, 0]


@pytest.mark.slow
def test_every_product_of_the_encoder_is_rounded_and_restored(model: scales.Model) -> None:
    exact = model.logits(PAIRS)
    seen = set()
    for name, of in scales.ways(model, PAIRS):
        with model.rounding(of):
            weights = [part.weight.data for part in model.products.values()]
            found = model.logits(PAIRS)
        if name == "weights alone":
            assert all(len(row.unique()) <= 255 for weight in weights for row in weight)
        assert 0 < (found - exact).abs().max() < 0.2 * exact.abs().max()
        seen.add(name)
    assert len(seen) == 5 + len(scales.ALPHAS)
    assert torch.equal(model.logits(PAIRS), exact)


@pytest.mark.slow
def test_a_row_has_its_own_scale_and_padding_has_no_part_in_that_of_a_pair(model: scales.Model) -> None:
    for name, of in scales.ways(model, PAIRS):
        with model.rounding(of):
            together, alone = model.logits(PAIRS), [model.logits([pair])[0] for pair in PAIRS]
        assert torch.allclose(together, torch.stack(alone), atol=1e-3), name
