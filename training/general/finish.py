"""Last steps after the runs: the mean of their weights, and the bias of *entailment* from a held-out domain.

    python -m training.general.finish RUN/checkpoint RUN/checkpoint RUN/checkpoint BEFORE --data ../shared/data/nli \
        --prior 0.73 --out FINISHED

Weights of runs that share their beginning can be averaged, and the mean often does better on data unlike the training
data than each of them (Wortsman et al., CVPR 2022, "Robust fine-tuning of zero-shot models", section 3). A checkpoint
that is named three times counts three times.

Training has as many false pairs as true ones. The bias makes P(entailment) right on pairs of a domain that was not
trained on (televisions), weighted so that `--prior` of them are true; the rule of a check stays as it is. No test set
is looked at.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel

from scorer.evaluation.calibration import calibration
from training.general.nli import save_tokenizer, tokenizer_of
from training.general.pairs import ENTAILMENT, pairs
from training.general.pools import pair_logits
from training.general.rows import corpus, parts, read
from training.network import NLI_LABELS, load, save

E = NLI_LABELS.index("entailment")
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def average(checkpoints: Sequence[Path]) -> PreTrainedModel:
    """The mean of checkpoints of one network.

    Raises:
        SystemExit: the checkpoints have other tensors or another tokenizer.
    """
    first, *others = checkpoints
    network = load(first)
    states = [network.state_dict(), *(load(one).state_dict() for one in others)]
    shapes = [{name: tensor.shape for name, tensor in state.items()} for state in states]
    tokenizers = [tokenizer_of(one).to_str() for one in checkpoints]
    for one, shape, tokenizer in zip(checkpoints, shapes, tokenizers, strict=True):
        if shape != shapes[0] or tokenizer != tokenizers[0]:
            sys.exit(f"{one}: other tensors or another tokenizer than {first}; use runs that began with one checkpoint")
    mean = {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}
    network.load_state_dict(mean)
    return network


def margin(found: Floats) -> Floats:
    """log P(entailment) − log P(not entailment). *Shape:* (pairs, 3) → (pairs,)."""
    others = np.delete(found, E, axis=1)
    return np.asarray(found[:, E] - np.logaddexp.reduce(others, axis=1))


def probability(margins: Floats) -> Floats:
    """P(entailment) of margins. *Shape:* (pairs,) → (pairs,)."""
    return np.asarray(1 / (1 + np.exp(-margins)))


def best_bias(margins: Floats, true: Bools, prior: float) -> float:
    """The number that, added to each margin, minimises the log loss when `prior` of the pairs are true, by halving: its
    derivative is the mean P(entailment) minus the prior. *Shape:* (pairs,) each, some of each kind."""
    weight = np.where(true, prior / true.mean(), (1 - prior) / (1 - true.mean())) / len(true)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        if float(weight @ probability(margins + middle)) < prior:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def calibration_error(p: Floats, true: Bools) -> float | None:
    """Expected calibration error of P(entailment), of pairs that are each an input. *Shape:* (pairs,) each."""
    return calibration(p, true, np.arange(len(p)), 0)["error"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.finish", description=__doc__)
    parser.add_argument("checkpoints", type=Path, nargs="+", help="as the training left them")
    parser.add_argument("--data", type=Path, required=True, help="folder with d2t_train.parquet")
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint to export")
    parser.add_argument("--prior", type=float, default=0.5, help="share of true pairs to calibrate for")
    parser.add_argument("--pairs", type=int, default=4000)
    options = parser.parse_args()
    network, tokenizer = average(options.checkpoints), tokenizer_of(options.checkpoints[0])
    held_out = parts(read(options.data / "d2t_train.parquet"))[1]
    held_out_pairs = pairs(corpus(held_out), options.pairs, random.Random("held out/0"))
    asked = [(pair.premise, pair.hypothesis) for pair in held_out_pairs]
    margins = margin(pair_logits(network, tokenizer, asked).double().numpy())
    true = np.array([pair.label == ENTAILMENT for pair in held_out_pairs])
    bias = best_bias(margins, true, options.prior)
    report: dict[str, object] = {"pairs": len(held_out_pairs), "prior": options.prior, "bias": round(bias, 4)}
    for name, shift in (("before", 0.0), ("after", bias)):
        p = probability(margins + shift)
        report[name] = {
            "accuracy": float(((p > 0.5) == true).mean()), "false_alarms": float((p[true] <= 0.5).mean()),
            "missed": float((p[~true] > 0.5).mean()), "calibration_error": calibration_error(p, true),
        }  # fmt: skip
    with torch.no_grad():
        network.classifier.bias[E] += bias
    save(network, options.out)
    save_tokenizer(tokenizer, options.out)
    (options.out / "calibration.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
