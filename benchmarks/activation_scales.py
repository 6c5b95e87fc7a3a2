"""How many labels int8 keeps, by how the activations of its products are scaled.

    python -m benchmarks.activation_scales CHECKPOINT --bundle BUNDLE [--pairs FILE.parquet]

CHECKPOINT is a folder that transformers reads (``python -m export.training.general.rebuild`` writes one from a shipped
bundle), BUNDLE its export, whose probe pairs are asked; ``--pairs`` names other pairs (premise, hypothesis). Weights
are rounded to 8 bits with a scale for each output, activations as each way says, and everything else stays fp32: what
is measured is the rounding, not a runtime. `fixed` scales are set on the first 200 pairs of ``--calibrate``, after
activations are divided, and weights multiplied, by a factor for each channel (SmoothQuant, Xiao et al. 2023, equation
4): largest activation ^ alpha / largest weight ^ (1 - alpha).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from scorer.inference.bundle import Bundle

if TYPE_CHECKING:
    from torch import Tensor, nn

ALPHAS = (0.5, 0.8, 1.0)
CALL = 16
CALIBRATED = 200
Pair = tuple[str, str]


class Model:
    """A checkpoint whose encoder's products can be made to round. ``mask``: the tokens of the call, without padding."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForSequenceClassification.from_pretrained(folder).float().eval()
        self.products: dict[str, nn.Linear] = {
            name: part
            for name, part in self._model.named_modules()
            if isinstance(part, torch.nn.Linear) and ".layer." in name
        }
        self.entailment = int(self._model.config.label2id["entailment"])
        self.mask: Tensor

    def logits(self, pairs: list[Pair]) -> Tensor:
        """*Shape:* (pairs, labels) float32."""
        import torch

        order = sorted(range(len(pairs)), key=lambda i: sum(map(len, pairs[i])))
        found: list[Any] = [None] * len(pairs)
        for start in range(0, len(order), CALL):
            call = order[start : start + CALL]
            sides = zip(*(pairs[i] for i in call), strict=True)
            inputs = self._tokenizer(*map(list, sides), padding=True, truncation=True, return_tensors="pt")
            self.mask = inputs["attention_mask"][:, :, None].bool()
            with torch.no_grad():
                answers = self._model(**inputs).logits
            for i, answer in zip(call, answers, strict=True):
                found[i] = answer
        return torch.stack(found)

    @contextmanager
    def rounding(self, of: Callable[[str, nn.Linear], tuple[Tensor, Callable[[Tensor], Tensor]]]) -> Iterator[None]:
        """``of``: the name of a product and itself → its weight, and what becomes of its activations."""
        before = {name: part.weight.data for name, part in self.products.items()}
        with ExitStack() as stack:
            for name, part in self.products.items():
                weight, change = of(name, part)
                part.weight.data = weight
                hook = part.register_forward_pre_hook(lambda _, inputs, change=change: (change(inputs[0]),))
                stack.callback(hook.remove)
            yield
        for name, part in self.products.items():
            part.weight.data = before[name]

    def largest(self, pairs: list[Pair]) -> dict[str, Tensor]:
        """The largest size of each channel of each product's activations. *Shape:* each (inner,)."""
        import torch

        found = {name: torch.zeros(part.in_features) for name, part in self.products.items()}

        def of(name: str, part: nn.Linear) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
            def watch(x: Tensor) -> Tensor:
                found[name] = torch.maximum(found[name], (x * self.mask).abs().flatten(0, -2).amax(0))
                return x

            return part.weight.data, watch

        with self.rounding(of):
            self.logits(pairs)
        return found


def rounded(x: Tensor, largest: Tensor) -> Tensor:
    """The nearest of 255 values from -largest to largest."""
    step = largest.clamp(min=1e-9) / 127
    return (x / step).round().clamp(-127, 127) * step


def rounded_weight(weight: Tensor) -> Tensor:
    """A scale for each output. *Shape:* (width, inner)."""
    return rounded(weight, weight.abs().amax(1, keepdim=True))


def ways(model: Model, calibration: list[Pair]) -> Iterator[tuple[str, Any]]:
    """Name of each way, and what :meth:`Model.rounding` takes."""
    import torch

    def between(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The nearest of 256 values, 0 among them."""
        low, high = low.clamp(max=0), high.clamp(min=0)
        step = ((high - low) / 255).clamp(min=1e-9)
        zero = (-low / step).round()
        return ((x / step).round() + zero).clamp(0, 255).sub(zero) * step

    def one(x: Tensor) -> Tensor:
        real = x * model.mask
        return between(x, real.amin((1, 2), keepdim=True), real.amax((1, 2), keepdim=True))

    changes: dict[str, Callable[[Tensor], Tensor]] = {
        "weights alone": lambda x: x,
        "a scale a pair (what the int8 variant has)": one,
        "a scale a row, symmetric": lambda x: rounded(x, x.abs().amax(-1, keepdim=True)),
        "a scale a row, from smallest to largest": lambda x: between(
            x, x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        ),
    }
    for name, change in changes.items():
        yield name, lambda _, part, change=change: (rounded_weight(part.weight.data), change)
    largest = model.largest(calibration)
    for alpha in ALPHAS:

        def smooth(name: str, part: nn.Linear, alpha: float = alpha) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
            weight = part.weight.data
            factor = largest[name].clamp(min=1e-4) ** alpha / weight.abs().amax(0).clamp(min=1e-4) ** (1 - alpha)
            size = (largest[name] / factor).max()
            return rounded_weight(weight * factor) / factor, lambda x: rounded(x / factor, size) * factor

        yield f"fixed, smoothed with alpha {alpha}", smooth
    with torch.no_grad():
        sizes = {name: value.max() for name, value in largest.items()}
    yield "fixed", lambda name, part: (rounded_weight(part.weight.data), lambda x: rounded(x, sizes[name]))


def read(path: Path) -> list[Pair]:
    """The pairs of a Parquet file."""
    table = pq.read_table(path, columns=["premise", "hypothesis"])
    return list(zip(table["premise"].to_pylist(), table["hypothesis"].to_pylist(), strict=True))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--bundle", type=Path, required=True, help="folder of the bundle, for its probes")
    parser.add_argument("--pairs", type=Path, help="other pairs than the probes")
    parser.add_argument("--calibrate", type=Path, help="pairs for the fixed scales; default: the asked ones")
    args = parser.parse_args(arguments)
    model = Model(args.checkpoint)
    asked = read(args.pairs or Bundle.load(args.bundle).path / "probes.parquet")
    calibration = read(args.calibrate)[:CALIBRATED] if args.calibrate else asked[:CALIBRATED]
    exact = model.logits(asked)
    labels = exact.argmax(1)
    print(f"{len(asked)} pairs")
    print("activations | labels kept | entailed or not kept | mean difference of a logit")
    for name, of in ways(model, calibration):
        with model.rounding(of):
            found = model.logits(asked)
        same = (found.argmax(1) == labels).float().mean()
        entailed = ((found.argmax(1) == model.entailment) == (labels == model.entailment)).float().mean()
        print(f"{name} | {same:.1%} | {entailed:.1%} | {(found - exact).abs().mean():.3f}", flush=True)


if __name__ == "__main__":
    main()
