"""A run that is interrupted computes what one without a break computes, to the bit."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import torch

from training.batches import Batch
from training.general.objective import Loss, recipe
from training.general.vocabulary import SPECIAL, make_tokenizer
from training.network import Network, Size, load_checkpoint
from training.train import Run, interrupts_call

SIZE = Size(vocabulary=40, hidden=64, layers=1, inner=96, heads=2, positions=32)
TOKENS = 40 * 64


class Pools:
    """Pool `number`: five batches of four pairs, of 32 tokens in all. *Entailment* if the last token is the first."""

    def batches(self, number: int) -> list[Batch]:
        generator = torch.Generator().manual_seed(number)
        made = []
        for _ in range(5):
            ids = torch.randint(5, 40, (4, 8), generator=generator)
            same = torch.arange(4) < 2
            ids[same, -1] = ids[same, 0]
            made.append(Batch(ids, torch.zeros_like(ids), torch.where(same, 2, 3)))
        return made


def run(out: Path, workers: int = 2) -> Run:
    out.mkdir(exist_ok=True)
    torch.manual_seed(3)
    tokenizer = make_tokenizer({piece: i for i, piece in enumerate([*SPECIAL, *"abcdefghijklmnopqrstuvwxyz"])})
    made = recipe(Pools(), tokenizer, TOKENS, 1e-3, Loss(None, "cpu"))  # type: ignore[arg-type]
    return Run(Network(SIZE), made, out, device="cpu", workers=workers)


class Interrupted(Run):
    """Stops by itself after so many steps."""

    def step(self, batches: list[Batch], rate: float) -> tuple[float, float]:
        if self.optimiser.steps + 1 == 17:
            self.stop()
        return super().step(batches, rate)


@pytest.mark.slow  # it needs a process in which no other library has set up its threads: there it failed once
def test_an_interrupted_run_ends_in_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run(tmp_path / "whole") as whole:
        assert whole.train(log_every=10)
        assert whole.optimiser.steps == 40
    parts = run(tmp_path / "parts")
    parts.__class__ = Interrupted
    with parts:
        assert not parts.train()
        assert parts.optimiser.steps == 17
    with run(tmp_path / "parts") as again:
        assert again.resume()
        assert (again.place.pool, again.place.batch) == (8, 2)
        assert again.train()
        assert again.optimiser.steps == 40
    for name in ("masters", "mean", "first", "second"):
        one, other = (getattr(r.optimiser, name) for r in (whole, again))
        assert torch.equal(one, other), name
    files = [(tmp_path / name / "checkpoint" / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert files[0] == files[1]
    assert len((tmp_path / "whole" / "training.jsonl").read_text().splitlines()) == 4


def test_it_learns_and_leaves_the_word_table_alone(tmp_path: Path) -> None:
    with run(tmp_path, workers=1) as found:
        before = found.network.words.weight.clone()
        losses = [found.step(found.recipe.batches(0)[:1], 1e-2)[0] for _ in range(40)]
        assert losses[-1] < 0.5 * losses[0]
        assert torch.equal(found.network.words.weight, before)
        found.save()
    state = load_checkpoint(tmp_path / "checkpoint").state_dict()
    mean = found.optimiser.averaged()
    assert torch.allclose(state["layers.0.up.weight"], mean["layers.0.up.weight"], atol=1e-2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_wish_to_stop_until_the_run_has_ended(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stopped = []
    with interrupts_call(lambda: stopped.append(number)):
        os.kill(os.getpid(), number)
    assert stopped == [number]
    assert signal.getsignal(number) == before
