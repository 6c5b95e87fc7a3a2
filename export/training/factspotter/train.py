"""The training run: new examples in each epoch, the paper's learning rates, early stopping, a state on disk."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812 - what everybody calls it

from .data import Known, Row
from .examples import Example, epoch

EPOCHS, BATCH, RATE = 15, 64, 5e-5
"""Of the authors' script for WebNLG."""
CLIP = 1.0
POOL = 64
"""Batches whose examples are sorted by length together, so that they need little padding."""


@dataclass(frozen=True)
class Plan:
    """What a run depends on besides its data and its base.

    ``patience``: epochs without a better F1 after which it ends. ``triples``: of an epoch; ``None``: all.
    ``max_length``: tokens of an example; longer ones are cut. ``bf16``: compute in bfloat16 where torch does.
    """

    seed: int = 0
    epochs: int = EPOCHS
    batch: int = BATCH
    rate: float = RATE
    patience: int = 3
    triples: int | None = None
    max_length: int = 256
    bf16: bool = False


@dataclass
class Place:
    """Where a run is. ``epoch``, ``batch``: the next one; ``best``: largest F1 so far and its epoch."""

    epoch: int = 0
    batch: int = 0
    best: float = -1.0
    best_epoch: int = -1


def rate_of(number: int) -> float:
    """Share of the top learning rate in an epoch: cosines over 1, 2, 4 ... epochs (Loshchilov & Hutter 2017)."""
    length = 1
    while number >= length:
        number -= length
        length *= 2
    return (1 + math.cos(math.pi * number / length)) / 2


def figures(present: Sequence[bool], expected: Sequence[bool]) -> dict[str, float]:
    """Accuracy, F1 of *present*, and the mean of both classes' F1 weighted by their size, as the authors report it."""
    pairs = list(zip(present, expected, strict=True))

    def f1(kind: bool) -> float:
        hits = sum(p == e == kind for p, e in pairs)
        found, real = sum(p == kind for p, _ in pairs), sum(e == kind for _, e in pairs)
        return 2 * hits / (found + real) if found + real else 0.0

    share = sum(expected) / len(expected)
    return {
        "examples": len(pairs),
        "accuracy": sum(p == e for p, e in pairs) / len(pairs),
        "f1_present": f1(True),
        "f1_weighted": share * f1(True) + (1 - share) * f1(False),
    }


class Run:
    """Owns the model and the optimiser of a run. Exact under interruption: what is computed does not depend on when a
    run was stopped, on one machine and one build of torch.

    Args:
        model, tokenizer: of transformers; two labels, the second means *present*.
        held_out: examples that are never trained on, the same in all epochs.
    """

    def __init__(
        self, model: Any, tokenizer: Any, rows: Sequence[Row], known: Known, held_out: Sequence[Example], out: Path,
        plan: Plan, device: str = "cpu",
    ) -> None:  # fmt: skip
        torch.manual_seed(plan.seed)
        self.model, self.tokenizer, self.rows, self.known = model.to(device), tokenizer, rows, known
        self.held_out, self.out, self.plan, self.device = held_out, out, plan, device
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=plan.rate, amsgrad=True)
        self.place = Place()
        self._stop = False

    def stop(self) -> None:
        """Ends :meth:`train` after the step in progress, with its state saved."""
        self._stop = True

    def resume(self) -> bool:
        """Continue where the last saved state was; False if there is none."""
        path = self.out / "state.pt"
        if not path.exists():
            return False
        state = torch.load(path, weights_only=True, map_location=self.device)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["random"].cpu())
        self.place = Place(**state["place"])
        return True

    def save(self) -> None:
        """The state, replaced as a whole."""
        temporary = self.out / "state.pt.part"
        state = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict()}
        torch.save({**state, "random": torch.get_rng_state(), "place": asdict(self.place)}, temporary)
        temporary.replace(self.out / "state.pt")

    def train(self, *, save_every: float = 600.0, log_every: int = 50) -> bool:
        """Run to the end; False if it was stopped before. The best epoch is in ``checkpoint``.

        ``save_every``: seconds between saved states.
        """
        place, saved, losses = self.place, time.monotonic(), list[float]()
        with (self.out / "training.jsonl").open("a", encoding="utf-8") as log:
            while not self._ended():
                batches = self._batches(place.epoch)
                for group in self.optimiser.param_groups:
                    group["lr"] = self.plan.rate * rate_of(place.epoch)
                self.model.train()
                while place.batch < len(batches):
                    if self._stop:
                        self.save()
                        return False
                    losses.append(self.step(batches[place.batch]))
                    place.batch += 1
                    if place.batch % log_every == 0 or place.batch == len(batches):
                        told: dict[str, float] = {"epoch": place.epoch, "batch": place.batch, "of": len(batches)}
                        told |= {"loss": round(math.fsum(losses) / len(losses), 4), "clock": round(time.time())}
                        print(json.dumps(told), file=log, flush=True)
                        losses = []
                    if time.monotonic() - saved > save_every:
                        self.save()
                        saved = time.monotonic()
                self._conclude(log)
        return True

    def step(self, batch: Sequence[Example]) -> float:
        """One update; the mean loss of its examples."""
        loss = F.cross_entropy(self._logits(batch).float(), self._labels(batch))
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimiser.step()
        return float(loss.detach())

    def evaluate(self) -> dict[str, float]:
        """Figures on the examples held out."""
        self.model.eval()
        order = sorted(range(len(self.held_out)), key=lambda i: len(self.held_out[i].said))
        found = [False] * len(order)
        with torch.inference_mode():
            for i in range(0, len(order), self.plan.batch):
                chosen = order[i : i + self.plan.batch]
                logits = self._logits([self.held_out[j] for j in chosen])
                for j, one in zip(chosen, logits.argmax(-1).tolist(), strict=True):
                    found[j] = one == 1
        return figures(found, [example.present for example in self.held_out])

    def _ended(self) -> bool:
        place = self.place
        late = place.epoch - 1 - place.best_epoch >= self.plan.patience
        return place.epoch >= self.plan.epochs or (place.epoch > 0 and late)

    def _conclude(self, log: Any) -> None:
        """The end of an epoch: figures, the checkpoint if it is the best so far, the state."""
        place, found = self.place, self.evaluate()
        print(json.dumps({"epoch": place.epoch, "held_out": found, "clock": round(time.time())}), file=log, flush=True)
        if found["f1_weighted"] > place.best:
            place.best, place.best_epoch = found["f1_weighted"], place.epoch
            self._save_checkpoint(found)
        place.epoch, place.batch = place.epoch + 1, 0
        self.save()

    def _save_checkpoint(self, found: Mapping[str, float]) -> None:
        folder = self.out / "checkpoint"
        shutil.rmtree(folder, ignore_errors=True)
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)
        told = {"epoch": self.place.epoch, "held_out": found, "plan": asdict(self.plan)}
        (self.out / "figures.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")

    def _batches(self, number: int) -> list[list[Example]]:
        """The batches of an epoch; a pool of them at a time is sorted by length, then put in random order."""
        examples = epoch(self.rows, self.known, self.plan.seed, number, self.plan.triples)
        return [batch for pool in _chunks(examples, POOL * self.plan.batch) for batch in self._sorted(pool, number)]

    def _sorted(self, pool: Sequence[Example], number: int) -> list[list[Example]]:
        batches = list(_chunks(sorted(pool, key=lambda example: len(example.said)), self.plan.batch))
        order = torch.randperm(len(batches), generator=torch.Generator().manual_seed(self.plan.seed * 1000 + number))
        return [list(batches[i]) for i in order.tolist()]

    def _logits(self, batch: Sequence[Example]) -> torch.Tensor:
        fed = self.tokenizer(
            [example.said for example in batch],
            truncation=True, max_length=self.plan.max_length, padding=True, return_tensors="pt",
        )  # fmt: skip
        ids, mask = fed["input_ids"].to(self.device), fed["attention_mask"].to(self.device)
        with torch.autocast(self.device.partition(":")[0], torch.bfloat16, enabled=self.plan.bf16):
            logits: torch.Tensor = self.model(input_ids=ids, attention_mask=mask).logits
        return logits

    def _labels(self, batch: Sequence[Example]) -> torch.Tensor:
        return torch.tensor([int(example.present) for example in batch], device=self.device)


def _chunks(items: Sequence[Example], size: int) -> Iterator[Sequence[Example]]:
    return (items[i : i + size] for i in range(0, len(items), size))
