"""`python -m export.training.e2e --data ../shared/data/public --out DIR`: trains embedded-e2e."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from tokenizers import Tokenizer

from export.training.e2e.calibrate import calibrate
from export.training.e2e.corpus import Source, read_outputs, training_items
from export.training.e2e.model import Size
from export.training.e2e.tokenizer import build_tokenizer
from export.training.e2e.train import Run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m export.training.e2e", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with e2e_all.parquet")
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoint/, state.pt and training.jsonl")
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the run; the schedule follows it")
    parser.add_argument("--steps", type=int, default=None, help="length in steps instead (repeatable)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--workers", type=int, default=2, help="threads, each with its own batch in every step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--synthetic", type=float, default=0.25, help="share of synthetic texts")
    parser.add_argument("--muon", type=float, default=2e-3, help="highest learning rate of the matrices")
    parser.add_argument("--adam", type=float, default=1e-3, help="highest learning rate of the other weights")
    parser.add_argument("--resume", type=Path, default=None, help="folder of an earlier run to start from")
    parser.add_argument("--begin", type=float, default=0.0, help="share of the stages to skip, when resuming")
    options = parser.parse_args()
    torch.set_num_threads(1)  # two workers with one thread each are 1.5 times as fast as one with two threads here
    options.out.mkdir(parents=True, exist_ok=True)
    source = Source(training_items(read_outputs(options.data)), options.synthetic)
    size = Size()
    if options.resume:
        tokenizer = Tokenizer.from_file(str(options.resume / "checkpoint" / "tokenizer.json"))
    else:
        tokenizer = build_tokenizer(source, size.vocabulary, options.seed)
    run = Run(size, tokenizer, options.out, options.device, options.workers, options.seed)
    if options.resume:
        run.resume(options.resume / "state.pt")
    run.train(
        source,
        minutes=options.minutes,
        steps=options.steps,
        seed=options.seed + 1,
        rates=(options.muon, options.adam),
        begin=options.begin,
    )
    calibrate(options.data, options.out / "checkpoint", options.seed)


if __name__ == "__main__":
    main()
