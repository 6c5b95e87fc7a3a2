"""`python -m training.general --start CHECKPOINT --data ../shared/data/nli --out DIR`: trains the embedded model on.

From the bundle that ships, ``training.general.rebuild`` makes the checkpoint.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
from pathlib import Path

from training.general import field, nli, own, rows
from training.general.bindings import Bindings
from training.general.nli import pieces_of, tokenizer_of
from training.general.objective import Loss, recipe
from training.general.pools import BATCH_TOKENS, Mix, Pools, Replacer, near_pieces
from training.network import load
from training.train import Run, begin


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general", description=__doc__)
    add = parser.add_argument
    add("--start", type=Path, required=True, help="checkpoint to train on from: of the model, or of its teacher")
    add("--data", type=Path, required=True, help="folder with nli_train and d2t_train")
    add("--field", type=Path, required=True, help="folder with the sets of field.py")
    add("--own", type=Path, help="folder with rows of people's own tables, as own.py reads them")
    add("--out", type=Path, required=True, help="folder for checkpoint/, settings.json, training.jsonl")
    add("--keep", type=Path, help="earlier checkpoint whose right answers are targets, too")
    add("--replace", action="store_true", help="also pairs without a label, which --keep judges")
    add("--tokens", type=int, default=40_000_000, help="length; the learning rate falls with it")
    add("--seconds", type=float, default=math.inf, help="ends after so long, if that is before")
    add("--batch", type=int, default=BATCH_TOKENS, help="tokens of a step")
    add("--makers", type=int, default=0, help="processes that make the pairs ahead")
    add("--device", default="cpu", choices=("cpu", "cuda"))
    add("--rate", type=float, default=1.5e-4, help="top learning rate")
    add("--nli", type=int, default=Mix.nli, help="NLI pairs of a pool")
    add("--recast", type=int, default=Mix.field, help="pairs of field.py of a pool")
    add("--d2t", type=int, default=Mix.d2t, help="pairs from facts and texts of a pool")
    add("--made", type=int, default=Mix.made, help="pairs of edits.py of a pool")
    add("--bound", type=int, default=Mix.bound, help="pairs of bindings.py of a pool")
    add("--tables", type=int, default=Mix.own, help="pairs of own.py of a pool, with --own")
    add("--limit", type=int, help="use about N rows of each file (for tests)")
    add("--seed", type=int, default=0, help="another one than the earlier run's")
    options = parser.parse_args()
    if options.replace and options.keep is None:
        parser.error("--replace makes pairs that only an earlier network can judge; name it with --keep")
    checkpoints = [path / "model.safetensors" for path in (options.start, options.keep) if path is not None]
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in checkpoints]
    begin(options.out, {**vars(options), "weights": hashes})
    prepared(options).train()


def prepared(options: argparse.Namespace) -> Run:
    """The run of these options at its start."""
    sentence_pairs = nli.read(options.data / "nli_train.parquet")
    facts, _ = rows.parts(rows.read(options.data / "d2t_train.parquet"))
    recast = field.read(options.field, options.data / "nli_test_public.parquet")
    if options.limit is not None:
        sentence_pairs, recast = (thinned(columns, options.limit) for columns in (sentence_pairs, recast))
        facts = facts[:: max(1, len(facts) // options.limit)]
    tokenizer, network = tokenizer_of(options.start), load(options.start)
    mix = Mix(options.nli, options.recast, options.d2t, options.made, options.bound, options.tables)
    read = [(nli.pairs(columns, tokenizer), n) for columns, n in ((sentence_pairs, mix.nli), (recast, mix.field))]
    if options.own is not None:
        texts, _ = own.parts(own.read(options.own))
        read.append((nli.pairs(own.pairs(texts, random.Random(options.seed)), tokenizer), mix.own))
    corpus = rows.corpus(facts)
    replacer = (
        Replacer(near_pieces(network.get_input_embeddings().weight, pieces_of(tokenizer))) if options.replace else None
    )
    pools = Pools(read, corpus, Bindings(corpus), tokenizer, mix, options.seed, options.batch, replacer)
    loss = Loss(load(options.keep) if options.keep is not None else None)
    run_recipe = recipe(pools, tokenizer, options.tokens, options.rate, loss, options.seconds)
    return Run(network, run_recipe, options.out, device=options.device, makers=options.makers)


def thinned(columns: dict[str, list[str]], count: int) -> dict[str, list[str]]:
    """About `count` rows, spread over all."""
    return {name: column[:: max(1, len(column) // count)] for name, column in columns.items()}


if __name__ == "__main__":
    main()
