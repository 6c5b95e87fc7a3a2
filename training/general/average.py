"""The mean of the weights of several checkpoints, where one run was trained on from the other.

    python -m training.general.average RUN/checkpoint RUN/checkpoint RUN/checkpoint BEFORE --out MEAN

Weights of runs that share their beginning can be averaged, and the mean often does better on data unlike the training
data than each of them (Wortsman et al., CVPR 2022, "Robust fine-tuning of zero-shot models", section 3). A checkpoint
that is named three times counts three times.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

WEIGHTS = "model.safetensors"


def read(checkpoints: list[Path]) -> list[dict[str, torch.Tensor]]:
    """The weights of checkpoints of one network.

    Raises:
        SystemExit: the checkpoints have other tensors, another configuration or another tokenizer.
    """
    first, *others = found = [load_file(one / WEIGHTS) for one in checkpoints]
    for one, weights in zip(checkpoints[1:], others, strict=True):
        if {n: t.shape for n, t in first.items()} != {n: t.shape for n, t in weights.items()}:
            sys.exit(f"{one}: other tensors than {checkpoints[0]}; only checkpoints of one network can be averaged")
        for name in ("config.json", "tokenizer.json"):
            if _content(one / name) != _content(checkpoints[0] / name):
                sys.exit(f"{one / name}: another one than {checkpoints[0]}'s; use runs that began with one checkpoint")
    return found


def average(found: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of each tensor, summed in float32, in the type of the first checkpoint."""
    first, *others = found
    means = {name: sum((o[name].float() for o in others), tensor.float()) for name, tensor in first.items()}
    return {name: (total / len(found)).to(first[name].dtype) for name, total in means.items()}


def _content(path: Path) -> object:
    """Content of a JSON file; a rebuilt checkpoint's tokenizer is written with other blanks than a trained one's."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        sys.exit(f"{path} cannot be read ({e}); give folders of checkpoints")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.average", description=__doc__)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if len(options.checkpoints) < 2:
        sys.exit("give at least two checkpoints")
    weights = average(read(options.checkpoints))
    options.out.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(options.checkpoints[0] / name, options.out / name)
    save_file(weights, options.out / WEIGHTS, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
