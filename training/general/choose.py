"""Which of several checkpoints: their accuracy on held-out parts of the training sources, never on a public test.

    python -m training.general.choose RUN/checkpoint RUN2/checkpoint MEAN --data DATA/nli --field DATA/field

Of each set of :mod:`.field` the quarter that is not trained on; made pairs of :mod:`.edits` and :mod:`.bindings` from
another seed; pairs of televisions, the domain of facts and texts that is left out. A pair counts as right when
*entailment* has the highest probability exactly if it is the pair's label.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from benchmarks.paper.challenge.sentence_pairs import is_trained
from training.general import edits, field, rows
from training.general.batches import pair_logits
from training.general.bindings import Bindings
from training.general.calibrate import held_out_pairs
from training.general.pairs import ENTAILMENT
from training.network import NLI_LABELS, load_checkpoint

Asked = dict[str, list[tuple[str, str, bool]]]
SEED = 1_000_003


def asked(data: Path, folder: Path, count: int) -> Asked:
    """At most `count` pairs of each set: premise, hypothesis, whether it is entailed."""
    rng = random.Random(SEED)
    found: Asked = {}
    for name in field.SETS:
        pairs = [p for p in field.recast(folder, name) if not is_trained(p.key)]
        rng.shuffle(pairs)
        found[name] = [(p.premise, p.hypothesis, p.label == "entailment") for p in pairs[:count]]
    for kind in edits.KINDS:
        found[kind.__name__] = [(*kind(agree, rng), agree) for _ in range(count // 4) for agree in (True, False)]
    facts, _ = rows.parts(rows.read(data / "d2t_train.parquet"))
    bindings = Bindings(rows.corpus(facts), [pair[0] for name in field.SETS for pair in found[name]])
    for maker in bindings.kinds:
        found[maker.__name__] = bindings.pairs(count // 2, rng, maker)
    made = held_out_pairs(data, count, SEED)
    found["televisions"] = [(p.premise, p.hypothesis, p.label == ENTAILMENT) for p in made]
    return found


def accuracy(checkpoint: Path, found: Asked) -> dict[str, float]:
    """Share of right answers by set."""
    network, tokenizer = load_checkpoint(checkpoint), Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    report = {}
    for name, pairs in found.items():
        chosen = pair_logits(network, tokenizer, [pair[:2] for pair in pairs]).numpy().argmax(1)
        report[name] = float(((chosen == NLI_LABELS.index("entailment")) == np.array([p[2] for p in pairs])).mean())
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.choose", description=__doc__)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True, help="folder with d2t_train.parquet")
    parser.add_argument("--field", type=Path, required=True, help="folder with the sets of field.py")
    parser.add_argument("--pairs", type=int, default=800, help="at most so many of each set")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    found = asked(options.data, options.field, options.pairs)
    report = {str(checkpoint): accuracy(checkpoint, found) for checkpoint in options.checkpoints}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
