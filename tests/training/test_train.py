"""A run learns, in either type of layer, and the same run computes the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.training.examples import make_tokenizer
from training import train
from training.batches import TrainingBatch
from training.general.objective import Loss, recipe
from training.network import Network, Size, load_checkpoint
from training.train import Run, begin

SIZE = Size(vocabulary=40, hidden=64, layers=1, inner=96, heads=2, positions=32)
POOL = 5 * 4 * 8


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of so small a network wait for each other longer than they compute: minutes, on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Pools:
    """Pool `number`: five batches of four pairs of eight tokens. *Entailment* if the last token is the first."""

    def batches(self, number: int) -> list[TrainingBatch]:
        generator = torch.Generator().manual_seed(number)
        made = []
        for _ in range(5):
            ids = torch.randint(5, 40, (4, 8), generator=generator)
            same = torch.arange(4) < 2
            ids[same, -1] = ids[same, 0]
            made.append(TrainingBatch(ids, torch.zeros_like(ids), torch.where(same, 2, 3)))
        return made


def run(out: Path, tokens: int = 8 * POOL) -> Run:
    begin(out, {"tokens": tokens})
    torch.manual_seed(3)
    made = recipe(Pools(), make_tokenizer("abc"), tokens, 1e-3, Loss(None, "cpu"), math.inf)  # type: ignore[arg-type]
    return Run(Network(SIZE), made, out, device="cpu")


def test_a_run_ends_at_its_tokens_and_leaves_its_settings_log_and_checkpoint(tmp_path: Path) -> None:
    found = run(tmp_path / "run")
    found.train(log_every=10)
    assert found.optimiser.steps == 40 and found.place.tokens == 8 * POOL and found.place.pool == 8
    lines = [json.loads(line) for line in (tmp_path / "run" / "training.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [10, 20, 30, 40]
    assert json.loads((tmp_path / "run" / "settings.json").read_text()) == {"tokens": 8 * POOL}
    load_checkpoint(tmp_path / "run" / "checkpoint")
    with pytest.raises(SystemExit, match="is not empty"):
        run(tmp_path / "run")


@pytest.mark.parametrize("layers", [torch.float32, torch.bfloat16])
def test_it_learns_and_leaves_the_word_table_alone(
    layers: torch.dtype, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "layers_type", lambda device: layers)
    found = run(tmp_path, 10_000 * POOL)
    before = found.network.words.weight.clone()
    losses = [found.step(found.recipe.batches(0)[0])[0] for _ in range(200)]
    assert losses[-1] < 0.5 * losses[0]
    assert torch.equal(found.network.words.weight, before)
    found.save_checkpoint(tmp_path / "checkpoint")
    state = load_checkpoint(tmp_path / "checkpoint").state_dict()
    mean = found.optimiser.averaged()
    assert torch.allclose(state["layers.0.up.weight"], mean["layers.0.up.weight"], atol=1e-2)
