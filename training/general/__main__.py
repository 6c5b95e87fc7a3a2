"""`python -m training.general --base DIR --data ../shared/data/nli --out DIR`: makes the embedded model.

The same command continues a run that was interrupted. SIGTERM and Ctrl-C save the state first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from pathlib import Path

from tokenizers import Tokenizer

from training.general import field, nli, rows
from training.general.base import vocabulary, weights
from training.general.batches import BATCH_TOKENS, Mix, Pools
from training.general.bindings import Bindings
from training.general.objective import Loss, recipe
from training.general.replaced import Replacer, near_pieces
from training.general.teacher import is_teacher, load_teacher
from training.general.vocabulary import cut, make_tokenizer, pieces_of
from training.network import Network, from_base, load_checkpoint
from training.train import Run, begin


def kept_pieces(out: Path, base: dict[str, int], found: dict[str, list[str]], texts: list[str], size: int) -> list[str]:
    """The cut vocabulary, counted once and kept in `out`."""
    path = out / "vocabulary.json"
    if not path.exists():
        pieces = cut(base, [*found["premise"], *found["hypothesis"], *texts], size)
        path.write_text(json.dumps(pieces, ensure_ascii=False), encoding="utf-8")
    return list(json.loads(path.read_text(encoding="utf-8")))


def settings(options: argparse.Namespace) -> dict[str, object]:
    """What the weights of a run depend on; checkpoints by the hash of their weights."""
    unbound = {"base", "data", "field", "out", "device", "start", "keep", "makers"}
    found = {name: value for name, value in vars(options).items() if name not in unbound}
    for name, checkpoint in (("start", options.start), ("keep", options.keep)):
        if checkpoint is not None:
            found[name] = hashlib.sha256((checkpoint / "model.safetensors").read_bytes()).hexdigest()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--base", type=Path, help="folder with the base's files")
    source.add_argument("--start", type=Path, help="checkpoint of an earlier run, trained on from there")
    parser.add_argument("--data", type=Path, required=True, help="folder with nli_train and d2t_train")
    parser.add_argument("--field", type=Path, required=True, help="folder with the sets of field.py")
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoint/, state.pt, training.jsonl")
    parser.add_argument("--keep", type=Path, help="earlier checkpoint whose right answers are targets, too")
    parser.add_argument("--replace", action="store_true", help="also pairs without a label, which --keep judges")
    parser.add_argument("--tokens", type=int, default=40_000_000, help="length; the learning rate falls with it")
    parser.add_argument("--seconds", type=float, help="ends after so long, if that is before")
    parser.add_argument("--batch", type=int, default=BATCH_TOKENS, help="tokens of a worker's batch")
    parser.add_argument("--makers", type=int, default=1, help="processes that make the pairs; 1: a thread")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--workers", type=int, default=2, help="threads, each with a batch of its own per step")
    parser.add_argument("--rate", type=float, default=1.5e-4, help="top learning rate")
    parser.add_argument("--vocabulary", type=int, default=16000, help="word pieces to keep")
    parser.add_argument("--nli", type=int, default=Mix.nli, help="NLI pairs of a pool")
    parser.add_argument("--recast", type=int, default=Mix.field, help="pairs of field.py of a pool")
    parser.add_argument("--d2t", type=int, default=Mix.d2t, help="pairs from facts and texts of a pool")
    parser.add_argument("--made", type=int, default=Mix.made, help="pairs of edits.py of a pool")
    parser.add_argument("--bound", type=int, default=Mix.bound, help="pairs of bindings.py of a pool")
    parser.add_argument("--limit", type=int, default=None, help="use about N rows of each file (for tests)")
    parser.add_argument("--all-licences", action="store_true", help="experiments only: weights must not be shipped")
    parser.add_argument("--seed", type=int, default=0, help="with --start take another one than the earlier run's")
    options = parser.parse_args()
    if options.replace and options.keep is None:
        parser.error("--replace makes pairs that only an earlier network can judge; name it with --keep")
    begin(options.out, settings(options))
    with prepared(options) as run:
        run.finish()


def prepared(options: argparse.Namespace) -> Run:
    """The run of these options at its start."""
    found = nli.read(options.data / "nli_train.parquet", all_licences=options.all_licences)
    facts, _ = rows.parts(rows.read(options.data / "d2t_train.parquet"))
    recast = field.read(options.field, options.data / "nli_test_public.parquet")
    if options.limit is not None:
        found, recast = (thinned(columns, options.limit) for columns in (found, recast))
        facts = facts[:: max(1, len(facts) // options.limit)]
    if options.start is None:
        base = vocabulary(options.base)
        texts = [row.text for row in facts]
        texts += sorted({part for row in facts for t in row.triples for part in t})
        pieces = kept_pieces(options.out, base, found, texts, options.vocabulary)
        tokenizer = make_tokenizer({piece: i for i, piece in enumerate(pieces)})
        network = from_base(weights(options.base), [base[piece] for piece in pieces], options.seed)
    else:
        tokenizer = Tokenizer.from_file(str(options.start / "tokenizer.json"))
        network = network_of(options.start)
    tokenizer.encode_special_tokens = True
    mix = Mix(options.nli, options.recast, options.d2t, options.made, options.bound)
    read = [(nli.pairs(columns, tokenizer, options.out), n) for columns, n in ((found, mix.nli), (recast, mix.field))]
    corpus = rows.corpus(facts)
    bindings = Bindings(corpus, recast["premise"])
    replacer = Replacer(near_pieces(network.words.weight, pieces_of(tokenizer))) if options.replace else None
    pools = Pools(read, corpus, bindings, tokenizer, mix, options.seed, options.batch, replacer)
    loss = Loss(network_of(options.keep) if options.keep is not None else None, options.device)
    made = recipe(pools, tokenizer, options.tokens, options.rate, loss, options.seconds or math.inf)
    return Run(network, made, options.out, device=options.device, workers=options.workers, makers=options.makers)


def network_of(checkpoint: Path) -> Network:
    """A checkpoint of the general model, or of its teacher."""
    return load_teacher(checkpoint) if is_teacher(checkpoint) else load_checkpoint(checkpoint)


def thinned(columns: dict[str, list[str]], count: int) -> dict[str, list[str]]:
    """About `count` rows, spread over all."""
    return {name: column[:: max(1, len(column) // count)] for name, column in columns.items()}


if __name__ == "__main__":
    main()
