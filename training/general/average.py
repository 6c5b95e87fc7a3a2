"""The mean of the weights of several checkpoints, where one run was trained on from the other.

    python -m training.general.average RUN1/checkpoint RUN2/checkpoint --out AVERAGED
    python -m training.general.average RUN1/checkpoint RUN2/checkpoint --upper OTHER --layer 4 --out SPLICED

Weights of runs that share their beginning can be averaged, and the mean often does better on data unlike the training
data than each of them (Wortsman et al., CVPR 2022, "Robust fine-tuning of zero-shot models", section 3). Who has what
is found in the lower layers: with `--upper`, those from `--layer` on, and the head, are another checkpoint's.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

WEIGHTS = "model.safetensors"
_LAYER = re.compile(r"\.layer\.(\d+)\.")


def read(checkpoints: list[Path]) -> list[dict[str, torch.Tensor]]:
    """The weights of checkpoints of one network.

    Raises:
        SystemExit: the checkpoints have other tensors, another configuration or another tokenizer.
    """
    first, *others = found = [load_file(one / WEIGHTS) for one in checkpoints]
    contents = {name: _content(checkpoints[0] / name) for name in ("config.json", "tokenizer.json")}
    for one, weights in zip(checkpoints[1:], others, strict=True):
        if {n: t.shape for n, t in first.items()} != {n: t.shape for n, t in weights.items()}:
            sys.exit(f"{one}: other tensors than {checkpoints[0]}; only checkpoints of one network can be averaged")
        for name, content in contents.items():
            if _content(one / name) != content:
                sys.exit(f"{one / name}: another one than {checkpoints[0]}'s; use runs with the same --vocabulary")
    return found


def average(found: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of each tensor, summed in float32, in the type of the first checkpoint."""
    first, *others = found
    means = {name: sum((o[name].float() for o in others), tensor.float()) for name, tensor in first.items()}
    return {name: (total / len(found)).to(first[name].dtype) for name, total in means.items()}


def spliced(lower: dict[str, torch.Tensor], upper: dict[str, torch.Tensor], layer: int) -> dict[str, torch.Tensor]:
    """The layers below `layer`, and the embeddings, of one network, with the others and the head of another."""

    def is_lower(name: str) -> bool:
        number = _LAYER.search(name)
        return int(number[1]) < layer if number else ".embeddings." in name

    return {name: tensor if is_lower(name) else upper[name] for name, tensor in lower.items()}


def _content(path: Path) -> object:
    """What a file says; a rebuilt checkpoint's tokenizer is written with other blanks than a trained one's."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        sys.exit(f"{path} cannot be read ({e}); give folders of checkpoints")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.average", description=__doc__)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--upper", type=Path, help="checkpoint of the upper layers and the head")
    parser.add_argument("--layer", type=int, help="the first of them, from 0")
    options = parser.parse_args()
    if len(options.checkpoints) < 2:
        sys.exit("give at least two checkpoints")
    if (options.upper is None) != (options.layer is None):
        sys.exit("give --upper and --layer together")
    upper = [] if options.upper is None else [options.upper]
    found = read([*options.checkpoints, *upper])
    weights = average(found[: len(options.checkpoints)])
    if upper:
        count = 1 + max(int(number[1]) for name in weights if (number := _LAYER.search(name)))
        if not 0 <= options.layer < count:
            sys.exit(f"--layer {options.layer}: the network has layers 0 to {count - 1}")
        weights = spliced(weights, found[-1], options.layer)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(options.checkpoints[0] / name, options.out / name)
    save_file(weights, options.out / WEIGHTS, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
