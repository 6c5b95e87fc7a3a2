"""The training run of both recipes: pools of batches, a step for each, and a running mean of the weights.

AdamW works on float32 masters of weights that may be bfloat16, all in one flat tensor, so that an update is one kernel
call. Frozen weights (the word table) have no master.
"""

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
from torch import Tensor, nn

from training.batches import TrainingBatch, pools
from training.network import Network, layers_type

BETAS = (0.9, 0.98)
EPSILON = 1e-6
MEAN_EVERY = 8


class Optimiser:
    """One step at a time: gradients of the working weights → masters → working weights.

    *Shape:* all state tensors (trained values,) float32.
    """

    def __init__(self, network: nn.Module, decay: float = 0.01) -> None:
        self.names = [name for name, p in network.named_parameters() if p.requires_grad]
        self.working = [p for p in network.parameters() if p.requires_grad]
        self.masters = torch.cat([p.detach().float().reshape(-1) for p in self.working])
        self.mean = self.masters.clone()
        self.first = torch.zeros_like(self.masters)
        self.second = torch.zeros_like(self.masters)
        self.steps = 0
        self.decay = decay
        self._grad = torch.empty_like(self.masters)

    def _pieces(self, flat: Tensor) -> list[Tensor]:
        sizes = [p.numel() for p in self.working]
        return [piece.view(p.shape) for piece, p in zip(flat.split(sizes), self.working, strict=True)]

    @torch.no_grad()
    def step(self, gradient: Sequence[Tensor], rate: float, mean_decay: float) -> float:
        """Apply a gradient; return its norm before it is clipped at 1. A norm that is not finite changes nothing."""
        for total, part in zip(self._pieces(self._grad), gradient, strict=True):
            total.copy_(part)
        norm = float(torch.linalg.vector_norm(self._grad))
        if not math.isfinite(norm):
            return norm
        self.steps += 1
        place = self.masters.device
        # The kernel divides by the scale: mean and clip in one pass.
        scale, steps = (torch.tensor(x, device=place) for x in (max(1.0, norm + 1e-6), float(self.steps)))
        torch._fused_adamw_(
            [self.masters], [self._grad], [self.first], [self.second], [], [steps],
            lr=rate, beta1=BETAS[0], beta2=BETAS[1], weight_decay=self.decay, eps=EPSILON, amsgrad=False,
            maximize=False, grad_scale=scale,
        )  # fmt: skip
        self.publish()
        if self.steps % MEAN_EVERY == 0:
            self.mean.lerp_(self.masters, 1 - mean_decay**MEAN_EVERY)
        return norm

    @torch.no_grad()
    def publish(self) -> None:
        """Copies the masters into the working weights."""
        for working, master in zip(self.working, self._pieces(self.masters), strict=True):
            working.copy_(master)

    def averaged(self) -> dict[str, Tensor]:
        """Name → running mean of a trained weight."""
        return dict(zip(self.names, self._pieces(self.mean), strict=True))


MEAN_DECAY = 0.995


@dataclass
class RunState:
    """Where a run is. ``pool``: the one in use; ``tokens`` (padding included), ``examples``: seen so far; ``best``,
    ``best_pool``: the largest figure so far and its pool, of a recipe that keeps the best one."""

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
        self.place = RunState()

    def save_checkpoint(self, folder: Path) -> None:
        """The running mean of the weights, with the tokenizer."""
        state = {**dict(self.network.named_parameters()), **self.optimiser.averaged()}
        self.network.save({name: tensor.float() for name, tensor in state.items()}, folder)
        self.recipe.save_tokenizer(folder)

    def step(self, batch: TrainingBatch) -> tuple[float, float]:
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
