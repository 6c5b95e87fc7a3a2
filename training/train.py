"""The training run of both recipes: pools of batches, a step for each, and a running mean of the weights."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from training.batches import Batch, pools
from training.network import Network, layers_type
from training.optim import Optimiser

MEAN_DECAY = 0.995


@dataclass
class Place:
    """Where a run is. ``pool``: the one in use; ``tokens`` (padding included), ``examples``: seen so far; ``best``,
    ``best_pool``: the largest figure so far and its pool, of a recipe that keeps the best one."""

    pool: int = 0
    tokens: int = 0
    examples: int = 0
    best: float = -1.0
    best_pool: int = -1


@dataclass(frozen=True)
class Recipe:
    """What differs between the recipes.

    ``batches``: pool N, a pure function of N. ``loss``: of logits (n, labels) and their batch, a mean. ``rate``:
    the learning rate at a place. ``ended``: whether the run ends there. ``save_tokenizer``: writes the tokenizer's
    files to a checkpoint. ``concluded``: called after a pool, with its number; what it returns goes to the log.
    """

    batches: Callable[[int], list[Batch]]
    loss: Callable[[Tensor, Batch], Tensor]
    rate: Callable[[Place], float]
    ended: Callable[[Place], bool]
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
    """Owns the network and the optimiser of a run.

    Args:
        makers: processes that make pools ahead (:func:`.pools`).
    """

    def __init__(self, network: Network, recipe: Recipe, out: Path, *, device: str, makers: int = 0) -> None:
        self._pools = pools(recipe.batches, makers)
        network.words.weight.requires_grad_(False)  # the word table would be a third of an update, and gains little
        self.network, self.recipe = network.to(device), recipe
        self.out, self.device = out, device
        self.optimiser = Optimiser(network)
        network.layers.to(layers_type(device))
        self.place = Place()

    def save_checkpoint(self, folder: Path) -> None:
        """The running mean of the weights, with the tokenizer."""
        state = {**dict(self.network.named_parameters()), **self.optimiser.averaged()}
        self.network.save({name: tensor.float() for name, tensor in state.items()}, folder)
        self.recipe.save_tokenizer(folder)

    def step(self, batch: Batch) -> tuple[float, float]:
        """One update; the mean loss and the norm of the gradient."""
        here = batch.to(self.device)
        loss = self.recipe.loss(self.network(here.ids, here.segments), here)
        grads = torch.autograd.grad(loss, self.optimiser.working)
        decay = min(MEAN_DECAY, 1 - 1 / (self.optimiser.steps + 2))
        norm = self.optimiser.step(grads, self.recipe.rate(self.place), decay)
        self.place.tokens += batch.ids.numel()
        self.place.examples += len(batch.label)
        return float(loss.detach()), norm

    def train(self, *, log_every: int = 25) -> None:
        """Run to the end; the checkpoint is ``checkpoint`` in the folder of the run."""
        place, recipe, losses = self.place, self.recipe, list[float]()
        with (self.out / "training.jsonl").open("a", encoding="utf-8") as log:

            def told(line: dict[str, object]) -> None:
                print(json.dumps({**line, "clock": round(time.time())}), file=log, flush=True)

            while not recipe.ended(place):
                for batch in next(self._pools):
                    if recipe.ended(place):
                        break
                    loss, norm = self.step(batch)
                    losses.append(loss)
                    if self.optimiser.steps % log_every == 0:
                        mean = round(math.fsum(losses) / len(losses), 4)
                        told({"step": self.optimiser.steps, "examples": place.examples, "tokens": place.tokens,
                              "loss": mean, "norm": round(norm, 2)})  # fmt: skip
                        losses = []
                else:
                    place.pool += 1
                    if recipe.concluded is not None:
                        told(recipe.concluded(self, place.pool - 1))
        self.save_checkpoint(self.out / "checkpoint")
