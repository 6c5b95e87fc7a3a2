"""The training run: stages of pairs, batches of like lengths, one falling learning rate, a running mean."""

from __future__ import annotations

import json
import math
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - what everybody calls it

from export.training.e2e.corpus import Source
from export.training.e2e.data import Mix, Pair, pairs
from export.training.e2e.facts import SLOTS
from export.training.e2e.model import PAD, Network, Size, save_checkpoint
from export.training.e2e.optim import Optimiser
from export.training.e2e.tokenizer import save_tokenizer

STATES = 5
BATCH_TOKENS = 5120  # per worker; a step is one batch of each
POOL = 6000


@dataclass(frozen=True)
class Stage:
    """From `start` (share of the run) on: the mix, and the weight of the auxiliary losses."""

    start: float
    mix: Mix
    auxiliary: float


# Facts of a text first, then all facts to text, at last the class balance of real use.
STAGES = (
    Stage(0.0, Mix(facts_first=0.1, many_facts=0.5, natural=0.2, false_omission=0.5), 1.0),
    Stage(0.12, Mix(facts_first=0.4, many_facts=0.15, natural=0.25, false_omission=0.45), 0.7),
    Stage(0.3, Mix(facts_first=0.6, many_facts=0.05, natural=0.3, false_hallucination=0.45), 0.5),
    Stage(0.65, Mix(facts_first=0.55, natural=0.45, false_omission=0.35, false_hallucination=0.35), 0.3),
    Stage(0.85, Mix(facts_first=0.5, natural=0.7, false_omission=0.25, false_hallucination=0.25), 0.15),
)


@dataclass(frozen=True)
class Batch:
    """*Shapes:* ids (n, length); label (n,); states (n, slots); the facts' last tokens as flat (row, column)."""

    ids: Tensor
    label: Tensor
    states: Tensor
    fact_at: Tensor
    fact_label: Tensor


class Encoder:
    """Pairs → batches. Facts are tokenised once each; a text each time, since its names are always new."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._facts: dict[str, list[int]] = {}

    def _fact_ids(self, found: list[Pair]) -> None:
        if len(self._facts) > 200_000:
            self._facts.clear()
        new = sorted({fact for pair in found for fact in pair.facts} - self._facts.keys())
        encoded = self.tokenizer.encode_batch(new, add_special_tokens=False)
        self._facts.update((fact, e.ids) for fact, e in zip(new, encoded, strict=True))

    def rows(self, found: list[Pair]) -> list[tuple[list[int], list[int], Pair]]:
        """Per pair its ids, the place of each fact's last token, and the pair."""
        self._fact_ids(found)
        texts = self.tokenizer.encode_batch([pair.text for pair in found], add_special_tokens=False)
        rows = []
        for pair, text in zip(found, texts, strict=True):
            offset = 1 if pair.facts_first else len(text.ids) + 3
            facts: list[int] = []
            ends: list[int] = []
            for fact in pair.facts:
                facts += self._facts[fact]
                ends.append(offset + len(facts) - 1)
            first, second = (facts, text.ids) if pair.facts_first else (text.ids, facts)
            ids = [0, *first, 2, 2, *second, 2]
            if len(ids) <= 256:
                rows.append((ids, ends, pair))
        return rows

    def batches(self, found: list[Pair], rng: random.Random) -> list[Batch]:
        """Sorted by length, cut at a token budget, shuffled."""
        rows = sorted(self.rows(found), key=lambda row: (len(row[0]), rng.random()))
        batches, start = [], 0
        while start < len(rows):
            # Few shapes: a kernel is prepared for every new shape.
            length = -(-len(rows[min(start + 48, len(rows) - 1)][0]) // 8) * 8
            count = BATCH_TOKENS // length
            batches.append(_batch(rows[start : start + count]))
            start += count
        rng.shuffle(batches)
        return batches


def _batch(rows: list[tuple[list[int], list[int], Pair]]) -> Batch:
    length = -(-max(len(ids) for ids, _, _ in rows) // 8) * 8
    return Batch(
        torch.tensor([ids + [PAD] * (length - len(ids)) for ids, _, _ in rows]),
        torch.tensor([pair.label for _, _, pair in rows]),
        torch.tensor([pair.states for _, _, pair in rows]),
        torch.tensor([row * length + end for row, (_, ends, _) in enumerate(rows) for end in ends]),
        torch.tensor([label for _, _, pair in rows for label in pair.fact_labels]),
    )


def losses(network: Network, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The pair's loss and the two auxiliary ones: each fact at its last token, each slot at `<s>`.

    Mean cross-entropy in nats; *Shape:* () each.
    """
    logits, hidden = network(batch.ids)
    main = F.cross_entropy(logits, batch.label, label_smoothing=0.02)
    at_facts = hidden.reshape(-1, hidden.shape[-1])[batch.fact_at]
    facts = F.cross_entropy(network.fact_head(at_facts), batch.fact_label)
    states = network.state_head(hidden[:, 0]).view(-1, len(SLOTS), STATES)
    return main, facts, F.cross_entropy(states.reshape(-1, STATES), batch.states.reshape(-1))


def rate_at(done: float) -> float:
    """Share of the top learning rate: warm-up, level, then a fall to nearly nothing over the last half."""
    return min(1.0, done / 0.02 + 0.02) * min(1.0, max(0.02, (1 - done) / 0.5))


def _to_device(batch: Batch, device: str) -> Batch:
    return batch if device == "cpu" else Batch(*(getattr(batch, f).to(device) for f in batch.__dataclass_fields__))


class Run:
    """Owns the network, the optimiser and the clock of one training run."""

    def __init__(self, size: Size, tokenizer: Tokenizer, out: Path, device: str, workers: int, seed: int) -> None:
        torch.manual_seed(seed)
        self.size, self.tokenizer, self.out, self.device = size, tokenizer, out, device
        self.workers = workers
        self.network = Network(size, len(SLOTS), STATES)
        self.optimiser: Optimiser | None = None
        self.encoder = Encoder(tokenizer)

    def _gradients(self, batch: Batch, auxiliary: float) -> tuple[list[Tensor], list[float]]:
        """Gradients in the order of the working weights, and the three losses. One thread's share of a step."""
        main, facts, states = losses(self.network, _to_device(batch, self.device))
        total = main + auxiliary * (facts + states)
        grads = torch.autograd.grad(total, list(self.network.parameters()))
        return list(grads), [float(loss.detach()) for loss in (main, facts, states)]

    def resume(self, state: Path) -> None:
        """Starts from the raw weights of an earlier run of the same size and tokenizer."""
        self.network.load_state_dict(torch.load(state, weights_only=True)["raw"])

    def save(self, folder: Path) -> None:
        """The running mean as a checkpoint, and the raw weights next to it, to continue from."""
        assert self.optimiser is not None
        save_checkpoint(self.optimiser.mean, self.size, folder)
        save_tokenizer(self.tokenizer, folder)
        torch.save({"raw": self.optimiser.masters}, self.out / "state.pt")

    def train(
        self, source: Source, *, minutes: float, steps: int | None, seed: int, rates: tuple[float, float],
        stages: tuple[Stage, ...] = STAGES, begin: float = 0.0, save_every: float = 180.0, log_every: int = 50,
    ) -> None:  # fmt: skip
        """Runs for `minutes`, or for exactly `steps` steps (repeatable on one machine and build).

        `begin` skips the stages that an earlier run has been through.
        """
        rng = random.Random(seed)
        network = self.network.to(self.device)
        optimiser = self.optimiser = Optimiser(network, dict(network.named_parameters()))
        network.layers.to(torch.bfloat16)
        optimiser.working = dict(network.named_parameters())
        workers = ThreadPoolExecutor(self.workers, initializer=lambda: torch.set_num_threads(1))
        began, saved, step, tokens = time.monotonic(), time.monotonic(), 0, 0
        sums: list[list[float]] = []
        log = (self.out / "training.jsonl").open("a", encoding="utf-8")
        done = 0.0

        def prepared(stage: Stage) -> list[Batch]:
            return self.encoder.batches(pairs(source, stage.mix, POOL, rng), rng)

        ahead = ThreadPoolExecutor(1)
        coming = ahead.submit(prepared, [stage for stage in stages if stage.start <= begin][-1])
        while done < 1:
            stage = [stage for stage in stages if stage.start <= begin + (1 - begin) * done][-1]
            pool = coming.result()
            coming = ahead.submit(prepared, stage)  # the next pool is made while this one is used
            for start in range(0, len(pool) - self.workers + 1, self.workers):
                elapsed = time.monotonic() - began
                done = step / steps if steps else elapsed / 60 / minutes
                if done >= 1:
                    break
                batches = pool[start : start + self.workers]
                results = list(
                    workers.map(lambda batch, weight=stage.auxiliary: self._gradients(batch, weight), batches)
                )
                grads = {
                    name: torch.stack([result[0][i].float() for result in results]).mean(0)
                    for i, name in enumerate(optimiser.working)
                }
                rate = rate_at(done)
                norm = optimiser.step(grads, rates[0] * rate, rates[1] * rate, min(0.998, 1 - 1 / (step + 2)), workers)
                step, tokens = step + 1, tokens + sum(batch.ids.numel() for batch in batches)
                sums.append(
                    [*(math.fsum(column) / len(results) for column in zip(*(r[1] for r in results), strict=True)), norm]
                )
                if step % log_every == 0:
                    means = [math.fsum(column) / len(sums) for column in zip(*sums, strict=True)]
                    line = {"step": step, "seconds": round(elapsed), "rate": round(rate, 3), "tokens": tokens,
                            "main": round(means[0], 4), "facts": round(means[1], 4),
                            "states": round(means[2], 4), "norm": round(means[3], 2)}  # fmt: skip
                    print(json.dumps(line), flush=True)
                    log.write(json.dumps(line) + "\n")
                    log.flush()
                    sums = []
                if time.monotonic() - saved > save_every:
                    saved = time.monotonic()
                    self.save(self.out / "checkpoint")
        workers.shutdown()
        ahead.shutdown()
        self.save(self.out / "checkpoint")
        log.close()
