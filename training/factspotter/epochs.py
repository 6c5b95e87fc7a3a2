"""The run over epochs of new examples: a BERT checkpoint with a new head, the paper's learning rates, figures on the
part held out, early stopping."""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from scorer.errors import first_line
from training.batches import EncodedText, TrainingBatch, batched
from training.network import WITHOUT_DROPOUT, label_names, load, logits
from training.train import Recipe, Run, RunState

from .data import DataError, DataText, Known
from .examples import Example, epoch

EPOCHS, BATCH, RATE = 15, 64, 5e-5
"""Of the authors' script for WebNLG."""
LABELS = ("absent", "present")


def open_base(base: Path, seed: int) -> PreTrainedModel:
    """The network of a checkpoint, any BERT, MiniLM among them, with a new head of two labels; else a DataError."""
    torch.manual_seed(seed)
    try:
        network = load(base, ignore_mismatched_sizes=True, **WITHOUT_DROPOUT, **label_names(LABELS))
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as e:
        needed = "config.json, model.safetensors, tokenizer.json"
        raise DataError(f"{base} is not a checkpoint ({first_line(e)}); it needs {needed}") from e
    if network.config.model_type != "bert":
        raise DataError(f"{base} has the model_type {network.config.model_type!r}; give a BERT or a MiniLM")
    return network


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


class Epochs:
    """Epochs of new examples, and the figures of the checkpoint that each leaves; the best is ``best`` in the folder of
    the run.

    Args:
        base: the checkpoint that is trained on.
        rows: to train on, with what the negatives are drawn from.
        held_out: examples that are never trained on, the same in all epochs.
        options: ``seed``, ``epochs`` at most, ``patience`` (epochs without a better F1 after which the run ends),
            ``triples`` of an epoch (``None``: all), ``max_length`` of an example in tokens, ``batch``, ``rate``.
    """

    def __init__(
        self,
        base: Path,
        rows: Sequence[DataText],
        known: Known,
        held_out: Sequence[Example],
        options: argparse.Namespace,
    ) -> None:
        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.encode_special_tokens = True
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(options.max_length)
        self._base, self._rows, self._known, self._options = base, rows, known, options
        self._network = open_base(base, options.seed)
        self._held_out = self._tokens(held_out)
        self._expected = [example.present for example in held_out]

    def run(self, out: Path, device: str) -> Run:
        recipe = Recipe(
            batches=self._batches,
            loss=lambda logits, batch: cross_entropy(logits, batch.label),
            rate=lambda place: self._options.rate * rate_of(place.pool),
            ended=self._ended,
            save_tokenizer=self._save_tokenizer,
            concluded=self._concluded,
        )
        return Run(self._network, recipe, out, device=device)

    def _batches(self, number: int) -> list[TrainingBatch]:
        options = self._options
        examples = epoch(self._rows, self._known, options.seed, number, options.triples)
        rows = [(*row, int(one.present)) for row, one in zip(self._tokens(examples), examples, strict=True)]
        rng = random.Random(f"{options.seed}/{number}")
        return batched(rows, lambda _: int(options.batch), self._network.config.pad_token_id, rng)

    def _ended(self, place: RunState) -> bool:
        late: bool = place.pool - 1 - place.best_pool >= self._options.patience
        return bool(place.pool >= self._options.epochs or (place.pool > 0 and late))

    def _concluded(self, run: Run, number: int) -> dict[str, object]:
        """Figures of the checkpoint that an epoch leaves; it is kept if it is the best so far."""
        folder, best = run.out / "epoch", run.out / "best"
        run.save_checkpoint(folder)
        found = figures((logits(load(folder), self._held_out).argmax(1) == 1).tolist(), self._expected)
        told: dict[str, object] = {"epoch": number, "held_out": found}
        if found["f1_weighted"] > run.place.best:
            run.place.best, run.place.best_pool = found["f1_weighted"], number
            shutil.rmtree(best, ignore_errors=True)
            folder.rename(best)
            (run.out / "figures.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        return told

    def _save_tokenizer(self, folder: Path) -> None:
        for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            if (self._base / name).exists():
                shutil.copyfile(self._base / name, folder / name)

    def _tokens(self, examples: Iterable[Example]) -> list[EncodedText]:
        encoded = self._tokenizer.encode_batch_fast([example.said for example in examples])
        return [(one.ids, len(one.ids)) for one in encoded]
