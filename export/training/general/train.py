"""The training run: pools of batches, one learning rate that rises and falls, a running mean, and a state on disk."""

from __future__ import annotations

import json
import math
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - what everybody calls it

from export.training.general.batches import Batch, Pools
from export.training.general.network import LABELS, Network, save_checkpoint
from export.training.general.nli import NOT_ENTAILMENT
from export.training.general.optim import Optimiser
from export.training.general.vocabulary import save

SMOOTHING = 0.02
WARM_UP = 0.05
MEAN_DECAY = 0.995


@dataclass
class Place:
    """Where a run is. ``pool``, ``batch``: the next batch; ``tokens`` (padding included), ``pairs``: seen so far."""

    pool: int = 0
    batch: int = 0
    tokens: int = 0
    pairs: int = 0


def loss_of(logits: Tensor, label: Tensor) -> Tensor:
    """Mean over pairs of -log P(label), smoothed; of -log(1 - P(entailment)) where the label is *not entailment*.

    *Shape:* logits (n, 3), label (n,).
    """
    log_p = F.log_softmax(logits, -1)
    two_way = label == NOT_ENTAILMENT
    own = log_p.gather(1, torch.where(two_way, 0, label)[:, None])[:, 0]
    neither = torch.logsumexp(log_p[:, : LABELS.index("entailment")], -1)
    hit = torch.where(two_way, neither, own)
    return -((1 - SMOOTHING) * hit + SMOOTHING * log_p.mean(-1)).mean()


def rate_at(done: float) -> float:
    """Share of the top learning rate: a short rise, then a straight fall to nothing."""
    return min(1.0, done / WARM_UP + 0.02) * max(0.0, 1 - max(0.0, done - WARM_UP) / (1 - WARM_UP))


class Run:
    """Owns the network, the optimiser and the threads of a run. A context manager.

    A run is a pure function of its seed and settings on one machine and build of torch: what is computed does not
    depend on when it was interrupted (`tests/export/training/test_run.py`).
    """

    def __init__(
        self, network: Network, tokenizer: Tokenizer, pools: Pools, out: Path, *, device: str, workers: int
    ) -> None:
        network.words.weight.requires_grad_(False)  # the word table would be a third of an update, and gains little
        self.network, self.tokenizer, self.pools = network.to(device), tokenizer, pools
        self.out, self.device = out, device
        self.optimiser = Optimiser(network)
        network.layers.to(torch.bfloat16)
        self.place = Place()
        self._workers = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        self._ahead = ThreadPoolExecutor(1)
        self._count = workers
        self._stop = False

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exc: object) -> None:
        self._workers.shutdown(cancel_futures=True)
        self._ahead.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """Ends :meth:`train` after the step in progress, with its state saved."""
        self._stop = True

    def _gradients(self, batch: Batch) -> tuple[list[Tensor], float]:
        """One thread's share of a step."""
        here = batch.to(self.device)
        loss = loss_of(self.network(here.ids, here.segments), here.label)
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
        state = {**dict(self.network.named_parameters()), **self.optimiser.averaged()}
        folder = self.out / "checkpoint"
        save_checkpoint({name: tensor.float() for name, tensor in state.items()}, self.network.size, folder)
        save(self.tokenizer, folder)

    def step(self, batches: list[Batch], rate: float) -> tuple[float, float]:
        """One update from one batch of each worker; the mean loss and the norm of the gradient."""
        results = list(self._workers.map(self._gradients, batches))
        decay = min(MEAN_DECAY, 1 - 1 / (self.optimiser.steps + 2))
        norm = self.optimiser.step([grads for grads, _ in results], rate, decay)
        self.place.batch += len(batches)
        self.place.tokens += sum(batch.ids.numel() for batch in batches)
        self.place.pairs += sum(len(batch.label) for batch in batches)
        return math.fsum(loss for _, loss in results) / len(results), norm

    def train(self, tokens: int, rate: float, *, save_every: float = 600.0, log_every: int = 25) -> bool:
        """Runs until so many tokens were seen, padding included; False if it was stopped before.

        ``rate``: the top learning rate. ``save_every``: seconds between saved states.
        """
        place, saved = self.place, time.monotonic()
        losses: list[float] = []
        ahead: Future[list[Batch]] = self._ahead.submit(self.pools.batches, place.pool)
        with (self.out / "training.jsonl").open("a", encoding="utf-8") as log:
            while place.tokens < tokens and not self._stop:
                pool = ahead.result()
                ahead = self._ahead.submit(self.pools.batches, place.pool + 1)  # made while this one is used
                while place.batch + self._count <= len(pool) and place.tokens < tokens and not self._stop:
                    loss, norm = self.step(
                        pool[place.batch : place.batch + self._count], rate * rate_at(place.tokens / tokens)
                    )
                    losses.append(loss)
                    if self.optimiser.steps % log_every == 0:
                        line = {"step": self.optimiser.steps, "pairs": place.pairs, "tokens": place.tokens,
                                "loss": round(math.fsum(losses) / len(losses), 4), "norm": round(norm, 2),
                                "clock": round(time.time())}  # fmt: skip
                        print(json.dumps(line), file=log, flush=True)
                        losses = []
                    if time.monotonic() - saved > save_every:
                        self.save()
                        saved = time.monotonic()
                if place.batch + self._count > len(pool):
                    place.pool, place.batch = place.pool + 1, 0
        self.save()
        return place.tokens >= tokens
