"""`python -m export.training.factspotter --base DIR --data F.parquet --out DIR`: trains FactSpotter's classifier and
exports it.

The same command continues a run that was interrupted. SIGTERM and Ctrl-C save the state first.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import torch

from export import FACTSPOTTER, export_bundle
from export.training.factspotter.data import DataError, known, read, split
from export.training.factspotter.examples import epoch
from export.training.factspotter.train import Plan, Run
from export.training.interrupts import interrupts_call
from export.training.kept_settings import agree
from scorer.errors import ScorerError

UNBOUND = ("out", "device", "name", "precision")
"""Options that may differ when a run is continued."""
HELD_OUT = 20_000
"""Examples held out at most."""


def main() -> None:
    options = _parser().parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    options.out.mkdir(parents=True, exist_ok=True)
    agree(options.out, {name: value for name, value in vars(options).items() if name not in UNBOUND})
    try:
        run = prepared(options)
        run.resume()
        with interrupts_call(run.stop):
            whole = run.train()
        if not whole:
            sys.exit(f"stopped in epoch {run.place.epoch}; the same command continues")
        bundle = options.out / "bundle"
        shutil.rmtree(bundle, ignore_errors=True)
        export_bundle(
            str(options.out / "checkpoint"), bundle, answers=FACTSPOTTER, name=options.name,
            precisions=options.precision.split(","),
        )  # fmt: skip
    except (DataError, ScorerError) as error:
        sys.exit(str(error))
    print((options.out / "figures.json").read_text(encoding="utf-8"), end="")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m export.training.factspotter", description=__doc__)
    add = parser.add_argument
    add("--base", type=str, required=True, help="folder of an encoder checkpoint with its tokenizer")
    add("--data", type=str, required=True, help="Parquet file of triples and texts; a column category names domains")
    add("--out", type=Path, required=True, help="folder for checkpoint/, bundle/, figures.json, state.pt")
    add("--name", default="factspotter", help="name of the bundle")
    add("--precision", default="fp32,fp16,int8", help="comma-separated variants to export")
    add("--held-out", type=float, default=0.05, help="share of the inputs that are held out")
    add("--triples", type=int, default=None, help="triples of an epoch, drawn at random; default: all")
    add("--epochs", type=int, default=Plan.epochs, help="epochs at most")
    add("--patience", type=int, default=Plan.patience, help="epochs without a better F1 before the run ends")
    add("--batch", type=int, default=Plan.batch, help="examples of a step")
    add("--rate", type=float, default=Plan.rate, help="top learning rate")
    add("--max-length", type=int, default=Plan.max_length, help="tokens of an example; longer ones are cut")
    add("--bf16", action="store_true", help="compute in bfloat16; several times as fast where the CPU has AMX")
    add("--limit", type=int, default=None, help="use about N rows (for tests)")
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add("--seed", type=int, default=0)
    return parser


def prepared(options: argparse.Namespace) -> Run:
    """The run of these options at its start."""
    rows, held_out = split(read(Path(options.data), limit=options.limit), options.held_out, options.seed)
    examples = epoch(held_out, known(held_out), options.seed, -1)
    if len(examples) > HELD_OUT:
        examples = random.Random(options.seed).sample(examples, HELD_OUT)
    torch.manual_seed(options.seed)  # the head is new
    model, tokenizer = opened(Path(options.base))
    plan = Plan(
        options.seed, options.epochs, options.batch, options.rate, options.patience, options.triples,
        options.max_length, options.bf16,
    )  # fmt: skip
    return Run(model, tokenizer, rows, known(rows), examples, options.out, plan, options.device)


def opened(base: Path) -> tuple[Any, Any]:
    """The model and the tokenizer of a checkpoint, with a new head of two labels.

    Raises:
        DataError: no such folder, or no checkpoint that transformers reads.
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()  # that the head is new is known
    try:
        tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
        model = AutoModelForSequenceClassification.from_pretrained(
            base, num_labels=2, id2label={0: "absent", 1: "present"}, label2id={"absent": 0, "present": 1},
            dtype=torch.float32, local_files_only=True, ignore_mismatched_sizes=True,
        )  # fmt: skip
    except (OSError, ValueError) as e:
        raise DataError(f"{base} is no checkpoint ({(str(e).splitlines() or ['?'])[0][:200]}); give its folder") from e
    return model, tokenizer


if __name__ == "__main__":
    main()
