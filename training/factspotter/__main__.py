"""`python -m training.factspotter --base DIR --data F.parquet --out DIR`: train and export FactSpotter's classifier."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from export import FACTSPOTTER, export_bundle
from scorer.errors import ScorerError
from training.factspotter.data import DataError, known, read, split
from training.factspotter.epochs import BATCH, EPOCHS, RATE, Epochs
from training.factspotter.examples import epoch
from training.train import Run, begin

HELD_OUT = 20_000
"""Examples held out at most."""


def main() -> None:
    options = _parser().parse_args()
    begin(options.out, vars(options))
    try:
        prepared(options).train()
        bundle = options.out / "bundle"
        export_bundle(
            str(options.out / "best"), bundle, task=FACTSPOTTER, name=options.name,
            precisions=options.precision.split(","),
        )  # fmt: skip
    except (DataError, ScorerError) as error:
        sys.exit(str(error))
    print((options.out / "figures.json").read_text(encoding="utf-8"), end="")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.factspotter", description=__doc__)
    add = parser.add_argument
    add("--base", type=str, required=True, help="folder of a BERT checkpoint with its tokenizer.json")
    add("--data", type=str, required=True, help="Parquet file of triples and texts; a column category names domains")
    add("--out", type=Path, required=True, help="folder for best/, bundle/, figures.json")
    add("--name", default="factspotter", help="name of the bundle")
    add("--precision", default="fp32,fp16,int8", help="comma-separated variants to export")
    add("--held-out", type=float, default=0.05, help="share of the inputs that are held out")
    add("--triples", type=int, default=None, help="triples of an epoch, drawn at random; default: all")
    add("--epochs", type=int, default=EPOCHS, help="epochs at most")
    add("--patience", type=int, default=3, help="epochs without a better F1 before the run ends")
    add("--batch", type=int, default=BATCH, help="examples of a step")
    add("--rate", type=float, default=RATE, help="top learning rate")
    add("--max-length", type=int, default=256, help="tokens of an example; longer ones are cut")
    add("--device", default="cpu", choices=("cpu", "cuda"))
    add("--seed", type=int, default=0)
    return parser


def prepared(options: argparse.Namespace) -> Run:
    """The run of these options at its start."""
    rows, held_out = split(read(Path(options.data)), options.held_out, options.seed)
    examples = epoch(held_out, known(held_out), options.seed, -1)
    if len(examples) > HELD_OUT:
        examples = random.Random(options.seed).sample(examples, HELD_OUT)
    triples = sum(len(row.triples) for row in rows) if options.triples is None else options.triples
    if not 0 < options.batch <= 2 * triples:
        raise DataError(f"an epoch has {2 * triples} examples and a step {options.batch}; give another --batch")
    return Epochs(Path(options.base), rows, known(rows), examples, options).run(options.out, options.device)


if __name__ == "__main__":
    main()
