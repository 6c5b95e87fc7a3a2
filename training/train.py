"""The training run of both recipes: pools of batches, a step of AdamW for each, and a running mean of the weights."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim.swa_utils import AveragedModel
from transformers import PreTrainedModel

from training.batches import TrainingBatch, pools
from training.network import classify, save

BETAS, EPSILON, DECAY = (0.9, 0.98), 1e-6, 0.01
MEAN_DECAY, MEAN_EVERY = 0.995, 8
"""The mean of the weights: its decay by step, and the steps between two updates of it."""


@dataclass
class RunState:
    """Where a run is. ``pool``: the one in use; ``tokens`` (padding included), ``examples``: seen so far; ``best``,
    ``best_pool``: the largest figure so far and its pool, of a recipe that keeps the best one."""

    steps: int = 0
    pool: int = 0
    tokens: int = 0
    examples: int = 0
    best: float = -1.0
    best_pool: int = -1


@dataclass(frozen=True)
class Recipe:
    """Differences between the recipes.

    ``batches``: pool N, a pure function of N. ``loss``: of logits (n, labels) and their batch, a mean. ``rate``:
    the learning rate at a place. ``ended``: whether the run ends there. ``save_tokenizer``: writes the tokenizer's
    files to a checkpoint. ``concluded``: called after a pool, with its number; what it returns goes to the log.
    """

    batches: Callable[[int], list[TrainingBatch]]
    loss: Callable[[Tensor, TrainingBatch], Tensor]
    rate: Callable[[RunState], float]
    ended: Callable[[RunState], bool]
    save_tokenizer: Callable[[Path], None]
    concluded: Callable[[Run, int], dict[str, object]] | None = None


def begin(out: Path, settings: dict[str, object]) -> None:
    """Make the folder of a run, with its settings in it.

    Raises:
        SystemExit: the folder holds a run.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        sys.exit(f"{out} is not empty; a run cannot be continued, give another --out")
    (out / "settings.json").write_text(json.dumps(settings, indent=1, default=str) + "\n", encoding="utf-8")


class Run:
    """Owns the network and the optimiser of a run. ``mean``: the running mean of the weights.

    Args:
        makers: processes that make pools ahead (:func:`.pools`).
    """

    def __init__(self, network: PreTrainedModel, recipe: Recipe, out: Path, *, device: str, makers: int = 0) -> None:
        self._pools = pools(recipe.batches, makers)
        # The word table would be a third of an update, and gains little.
        network.get_input_embeddings().requires_grad_(False)
        self.network, self.recipe = network.to(device).train(), recipe
        self.out, self.device, self.place = out, device, RunState()
        self.mean = AveragedModel(network, multi_avg_fn=_add_to_mean)
        self._trained = [p for p in network.parameters() if p.requires_grad]
        self._optimiser = torch.optim.AdamW(self._trained, betas=BETAS, eps=EPSILON, weight_decay=DECAY, fused=True)

    def save_checkpoint(self, folder: Path) -> None:
        """The running mean of the weights, with the tokenizer."""
        save(self.mean.module, folder)
        self.recipe.save_tokenizer(folder)

    def step(self, batch: TrainingBatch) -> tuple[float, float]:
        """One update; the mean loss, and the norm of the gradient before it is clipped at 1. A norm that is not finite
        changes nothing."""
        here, place = batch.to(self.device), self.place
        loss = self.recipe.loss(classify(self.network, here.ids, here.segments), here)
        loss.backward()
        norm = float(clip_grad_norm_(self._trained, 1.0))
        if math.isfinite(norm):
            self._optimiser.param_groups[0]["lr"] = self.recipe.rate(place)
            self._optimiser.step()
            place.steps += 1
            if place.steps % MEAN_EVERY == 0:
                self.mean.update_parameters(self.network)
        self._optimiser.zero_grad()
        place.tokens += batch.ids.numel()
        place.examples += len(batch.label)
        return float(loss.detach()), norm

    def train(self, *, log_every: int = 25) -> None:
        """Run to the end; the checkpoint is ``checkpoint`` in the folder of the run.

        A line of ``training.jsonl`` has the mean loss of ``log_every`` steps, the last one that of the steps left.

        Raises:
            SystemExit: no step changed the weights.
        """
        place, recipe, losses, norm = self.place, self.recipe, list[float](), math.nan
        with (self.out / "training.jsonl").open("a", encoding="utf-8") as log:

            def write(line: dict[str, object]) -> None:
                print(json.dumps({**line, "clock": round(time.time())}), file=log, flush=True)

            def write_losses() -> None:
                mean = round(math.fsum(losses) / len(losses), 4)
                write({"step": place.steps, "examples": place.examples, "tokens": place.tokens,
                       "loss": mean, "norm": round(norm, 2)})  # fmt: skip
                losses.clear()

            while not recipe.ended(place):
                for batch in next(self._pools):
                    if recipe.ended(place):
                        break
                    loss, norm = self.step(batch)
                    losses.append(loss)
                    if len(losses) == log_every:
                        write_losses()
                else:
                    place.pool += 1
                    if recipe.concluded is not None:
                        write(recipe.concluded(self, place.pool - 1))
            if losses:
                write_losses()
        if place.steps == 0:
            sys.exit(f"{self.out}: no step changed the weights; give the run more tokens or seconds")
        if self.mean.n_averaged == 0:
            self.mean.update_parameters(self.network)
        self.save_checkpoint(self.out / "checkpoint")


@torch.no_grad()
def _add_to_mean(means: Sequence[Tensor], weights: Sequence[Tensor], updates: Tensor | int) -> None:
    """An exponential mean that forgets faster at the beginning."""
    decay = min(MEAN_DECAY, 1 - 1 / (MEAN_EVERY * int(updates) + 2))
    for mean, weight in zip(means, weights, strict=True):
        mean.lerp_(weight, 1 - decay**MEAN_EVERY)
