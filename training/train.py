"""The training run of all recipes: pools of batches, a running mean of the weights, and a state on disk."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from training.ahead import Ahead
from training.batches import Batch
from training.network import Network, layers_type
from training.optim import Optimiser

MEAN_DECAY = 0.995


@dataclass
class Place:
    """Where a run is. ``pool``, ``batch``: the next batch; ``tokens`` (padding included), ``examples``: seen so far;
    ``best``, ``best_pool``: the largest figure so far and its pool, of a recipe that keeps the best one."""

    pool: int = 0
    batch: int = 0
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
    """What a command does before it prepares its run: the folder with the settings, and the cores for the workers.

    Raises:
        SystemExit: the folder has a run under other settings.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "settings.json"
    if not path.exists():
        path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    before = json.loads(path.read_text(encoding="utf-8"))
    changed = [f"{name} {before.get(name)} → {value}" for name, value in settings.items() if before.get(name) != value]
    if changed:
        sys.exit(f"{out} holds a run under other settings ({', '.join(changed)}); use those, or another --out")


@contextmanager
def interrupts_call(stop: Callable[[], None]) -> Iterator[None]:
    """In this context both signals call `stop` and raise nothing; afterwards they do what they did before."""
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Run:
    """Owns the network, the optimiser and the threads of a run. A context manager.

    A run is a pure function of its seed and settings on one machine and build of torch: what is computed does not
    depend on when it was interrupted (`tests/training/test_train.py`).

    Args:
        workers: threads; a step is one batch of each, and batches left over at a pool's end are not used.
        makers: pools made ahead (:class:`.Ahead`).
    """

    def __init__(
        self, network: Network, recipe: Recipe, out: Path, *, device: str, workers: int, makers: int = 1
    ) -> None:
        self._ahead = Ahead(recipe.batches, makers)
        network.words.weight.requires_grad_(False)  # the word table would be a third of an update, and gains little
        self.network, self.recipe = network.to(device), recipe
        self.out, self.device = out, device
        self.optimiser = Optimiser(network)
        network.layers.to(layers_type(device))
        self.place = Place()
        self._workers = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        self._count = workers
        self._stop = False

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exc: object) -> None:
        self._workers.shutdown(cancel_futures=True)
        self._ahead.close()

    def stop(self) -> None:
        """Ends :meth:`train` after the step in progress, with its state saved."""
        self._stop = True

    def finish(self) -> None:
        """Continues the run to its end.

        Raises:
            SystemExit: Ctrl-C or SIGTERM stopped it before; its state is saved.
        """
        self.resume()
        with interrupts_call(self.stop):
            whole = self.train()
        if not whole:
            sys.exit(f"stopped after {self.place.tokens:,} tokens; the same command continues")

    def _gradients(self, batch: Batch) -> tuple[list[Tensor], float]:
        """One thread's share of a step."""
        here = batch.to(self.device)
        loss = self.recipe.loss(self.network(here.ids, here.segments), here)
        return list(torch.autograd.grad(loss, self.optimiser.working)), float(loss.detach())

    def resume(self) -> bool:
        """Continues exactly where the last saved state was; False if there is none."""
        path = self.out / "state.pt"
        if not path.exists():
            return False
        state = torch.load(path, weights_only=True)
        self.optimiser.restore(state["optimiser"])
        self.place = Place(**state["place"])
        return True

    def save(self) -> None:
        """The state, replaced as a whole, and the running mean as a checkpoint."""
        temporary = self.out / "state.pt.part"
        torch.save({"optimiser": self.optimiser.state(), "place": vars(self.place)}, temporary)
        temporary.replace(self.out / "state.pt")
        self.save_checkpoint(self.out / "checkpoint")

    def save_checkpoint(self, folder: Path) -> None:
        """The running mean of the weights, with the tokenizer."""
        state = {**dict(self.network.named_parameters()), **self.optimiser.averaged()}
        self.network.save({name: tensor.float() for name, tensor in state.items()}, folder)
        self.recipe.save_tokenizer(folder)

    def step(self, batches: list[Batch], rate: float) -> tuple[float, float]:
        """One update from one batch of each worker; the mean loss and the norm of the gradient."""
        results = list(self._workers.map(self._gradients, batches))
        decay = min(MEAN_DECAY, 1 - 1 / (self.optimiser.steps + 2))
        norm = self.optimiser.step([grads for grads, _ in results], rate, decay)
        self.place.batch += len(batches)
        self.place.tokens += sum(batch.ids.numel() for batch in batches)
        self.place.examples += sum(len(batch.label) for batch in batches)
        return math.fsum(loss for _, loss in results) / len(results), norm

    def train(self, *, save_every: float = 600.0, log_every: int = 25) -> bool:
        """Runs to the end; False if it was stopped before. ``save_every``: seconds between saved states."""
        place, recipe, saved = self.place, self.recipe, time.monotonic()
        losses: list[float] = []
        self._ahead.begin(place.pool)
        with (self.out / "training.jsonl").open("a", encoding="utf-8") as log:

            def told(line: dict[str, object]) -> None:
                print(json.dumps({**line, "clock": round(time.time())}), file=log, flush=True)

            while not recipe.ended(place) and not self._stop:
                pool = next(self._ahead)
                while place.batch + self._count <= len(pool) and not recipe.ended(place) and not self._stop:
                    loss, norm = self.step(pool[place.batch : place.batch + self._count], recipe.rate(place))
                    losses.append(loss)
                    if self.optimiser.steps % log_every == 0:
                        mean = round(math.fsum(losses) / len(losses), 4)
                        told({"step": self.optimiser.steps, "examples": place.examples, "tokens": place.tokens,
                              "loss": mean, "norm": round(norm, 2)})  # fmt: skip
                        losses = []
                    if time.monotonic() - saved > save_every:
                        self.save()
                        saved = time.monotonic()
                if place.batch + self._count > len(pool):
                    place.pool, place.batch = place.pool + 1, 0
                    if recipe.concluded is not None:
                        told(recipe.concluded(self, place.pool - 1))
        self.save()
        return recipe.ended(place)
