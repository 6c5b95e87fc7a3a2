"""Each variant against the checkpoint in PyTorch on the probe pairs, and the checkpoint against its labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.errors import BundleError, CheckpointError, DeviceError, first_line
from scorer.evaluation.contradiction import choose_threshold, contradiction_pairs
from scorer.inference.batching import Batch, places
from scorer.inference.bundle import LABELS, NLI, Contradiction, Scheme
from scorer.inference.device import KINDS
from scorer.inference.session import create_session, resolve_device
from scorer.system.processors import thread_count

from .probes import CONTRADICTORY, ENTAILED, NEUTRAL, LabelledPair, Probe
from .tokenization import PairTokenizer

MINIMUM_AGREEMENT = 0.99
_TOKENS = 512
"""Tokens of a batch, padding included."""
_READING_TOLERANCE = 1e-3
_INFINITY = 1e30
"""Stands for a difference that is not a number; JSON knows no infinity."""

_KINDS = (CONTRADICTORY, NEUTRAL, ENTAILED)
"""Kinds of plain pairs, in the order of the labels."""

Logits = npt.NDArray[np.float32]
Call = tuple[slice, dict[str, npt.NDArray[Any]]]
"""The probes of a call, and the inputs of the model by name."""


def checkpoint_logits(model: Any, tokenizer: PairTokenizer, probes: Sequence[Probe]) -> Logits:
    """Logits of the checkpoint in PyTorch, fp32, eager attention. float32, *Shape:* (probes, labels), its columns.

    Raises:
        CheckpointError: one of them is not finite.
    """
    import torch

    with torch.inference_mode():
        logits = np.concatenate(
            [
                model(**{name: torch.from_numpy(value) for name, value in feed.items()}).logits.numpy()
                for _, feed in batches(tokenizer, probes)
            ]
        ).astype(np.float32)
    if not np.isfinite(logits).all():
        raise CheckpointError("the checkpoint gives logits that are NaN or infinite in PyTorch fp32; it is damaged")
    return logits


def check_reading(logits: Logits, expected: Logits) -> None:
    """Check that the exported model is the one that transformers makes of the checkpoint.

    Both are computed in PyTorch, fp32, by the same operators: they differ by less than a thousandth of the largest
    logit.

    Raises:
        CheckpointError: the logits differ by more.
    """
    largest = float(np.abs(logits.astype(np.float64) - expected).max(initial=0.0))
    if not largest <= _READING_TOLERANCE * max(1.0, float(np.abs(expected).max(initial=0.0))):
        raise CheckpointError(
            f"transformers itself gives other logits for this checkpoint (they differ by up to {largest:.3g}): its "
            "config.json has a value that export reads in another way; report the checkpoint as a bug"
        )


def measure_variant(
    path: Path,
    precision: str,
    tokenizer: PairTokenizer,
    probes: Sequence[Probe],
    expected: Logits,
    scheme: Scheme,
    packed: bool = False,
) -> dict[str, Any] | None:
    """The ``parity`` of a variant for bundle.json, or ``None`` where it cannot be measured on this machine.

    Measured in batches, with padding, or packed end to end. fp16 is measured on CUDA where that really starts: a CPU
    has other half-precision kernels, or none and computes in fp32, so its figures would say nothing. A CPU has no
    kernels of packed attention at all.

    Args:
        expected: the checkpoint's logits, float32, *Shape:* (probes, classes).
        packed: the graph takes the inputs of :mod:`export.packed`.

    Raises:
        BundleError, DeviceError: the variant does not load or run.
    """
    kind = "cuda" if precision == "fp16" else "cpu"
    session = _session(path, kind)
    if session is None:
        return None
    calls = batches(tokenizer, probes)
    logits = _run(session, path, end_to_end(calls) if packed else calls, expected.shape)
    return {"provider": KINDS[kind].provider} | compare(expected, logits, scheme)


def compare(expected: Logits, logits: Logits, scheme: Scheme) -> dict[str, Any]:
    """Figures of a variant's ``logits`` against ``expected``, the checkpoint's; float32, *Shape:* (probes, labels).

    ``bound`` is the largest |Δlogit|: two logits can move against each other by twice that, so a label is safe where
    the top two are further apart; ``within_margin`` is the share of probes where they are not. Figures are rounded
    up to three digits. A difference that is not a number counts as 1e30.
    """
    difference = np.nan_to_num(np.abs(logits.astype(np.float64) - expected), nan=_INFINITY, posinf=_INFINITY)
    present = slice(0, 3) if scheme.kind == NLI else slice(2, 3)
    probabilities = [scheme.probabilities(values)[:, present].astype(np.float64) for values in (logits, expected)]
    moved = np.nan_to_num(np.abs(probabilities[0] - probabilities[1]), nan=1.0)
    agreement = scheme.decisions(logits) == scheme.decisions(expected)
    bound = _up(float(difference.max(initial=0.0)))
    close = scheme.decision_distances(expected) <= 2 * bound
    return {
        "pairs": len(expected),
        # Down, so that 99 % on paper is 99 % in truth.
        "label_agreement": math.floor(float(agreement.mean()) * 1e6) / 1e6,
        "max_abs_logit": bound,
        "max_abs_probability": _up(float(moved.max(initial=0.0))),
        "bound": bound,
        "within_margin": round(float(close.mean()), 6),
    }


def accept(precision: str, parity: Mapping[str, Any] | None) -> str | None:
    """The reason why a variant may not be shipped, in one line; ``None`` if it may."""
    if parity is None or parity["label_agreement"] >= MINIMUM_AGREEMENT:
        return None
    return (
        f"the {precision} variant gives the checkpoint's label on only {parity['label_agreement']:.2%} of "
        f"{parity['pairs']} probe pairs (at least {MINIMUM_AGREEMENT:.0%} is asked for; largest difference of a logit "
        f"{parity['max_abs_logit']:.3g}, of a probability {parity['max_abs_probability']:.3g})"
    )


def mean_probabilities(
    model: Any, tokenizer: PairTokenizer, scheme: Scheme, pairs: Sequence[LabelledPair]
) -> npt.NDArray[np.float64]:
    """Mean probability of each label on the pairs of each kind, by the checkpoint in PyTorch.

    float64, *Shape:* (kinds, labels): contradictory, neutral, entailed by contradiction, neutral, entailment; NaN where
    the scheme has no such label.
    """
    measured = [(Probe(p, h, tokenizer.length(p, h)), label) for p, h, label in pairs]
    measured.sort(key=lambda item: item[0].tokens)
    logits = checkpoint_logits(model, tokenizer, [probe for probe, _ in measured])
    probabilities, labels = scheme.probabilities(logits).astype(np.float64), [label for _, label in measured]
    return np.stack([probabilities[[label == kind for label in labels]].mean(axis=0) for kind in _KINDS])


def contradicts_labels(means: npt.NDArray[np.float64], scheme: Scheme) -> str | None:
    """Reason why the labels cannot be right, in one line; ``None`` if nothing speaks against them.

    A checkpoint with labels in the wrong order in its card or config gives a bundle that looks sound and is worthless.
    So each class is compared with itself: its mean probability must be higher on pairs of its own kind than on pairs of
    any other. A bias of the model towards one class does not matter then, and only the right order of the labels
    passes.

    Args:
        means: of :func:`mean_probabilities`; float64, *Shape:* (kinds, labels).
    """
    columns: Sequence[int] = range(len(LABELS)) if scheme.kind == NLI else [LABELS.index("entailment")]
    for column in columns:
        highest = int(means[:, column].argmax())
        if highest != column:
            figures = zip(_KINDS, means[:, column].tolist(), strict=True)
            by_kind = ", ".join(f"{kind} {mean:.3f}" for kind, mean in figures)
            return (
                f"on plain pairs the mean P({LABELS[column]}) is highest for the kind {_KINDS[highest]} ({by_kind}): "
                f"the labels {', '.join(scheme.labels)} are in the wrong order, or the model was not trained for such "
                "pairs; look the order up and give it with --labels or --supported"
            )
    return None


def measure_contradiction(
    model: Any, tokenizer: PairTokenizer, scheme: Scheme, max_length: int
) -> Contradiction | None:
    """The P(contradiction) from which on an omitted fact counts as said wrongly, by the checkpoint in PyTorch on the
    pairs of the challenge set that fit; ``None`` if no threshold tells wrong values from facts left out."""
    pairs, wrong = contradiction_pairs()
    lengths = np.array([tokenizer.length(*pair) for pair in pairs])
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] <= max_length]
    if not len(order):
        return None
    probes = [Probe(pairs[row][0], pairs[row][1], int(lengths[row])) for row in order]
    return choose_threshold(scheme.probabilities(checkpoint_logits(model, tokenizer, probes)), wrong[order])


def batches(tokenizer: PairTokenizer, probes: Sequence[Probe]) -> Iterator[Call]:
    """Batches of ``probes`` (sorted by length) with the inputs of the model, int64, *Shape:* (batch, sequence), right
    padded."""
    start = 0
    while start < len(probes):
        end = start + 1
        while end < len(probes) and (end + 1 - start) * probes[end].tokens <= _TOKENS:
            end += 1
        lists = [tokenizer.encode(p.premise, p.hypothesis) for p in probes[start:end]]
        ids = np.full((end - start, max(map(len, lists))), tokenizer.layout.pad_id, np.int64)
        mask = np.zeros_like(ids)
        for row, token_ids in enumerate(lists):
            ids[row, : len(token_ids)], mask[row, : len(token_ids)] = token_ids, 1
        feed = {"input_ids": ids, "attention_mask": mask}
        if tokenizer.layout.segments:
            segments = feed["token_type_ids"] = np.zeros_like(ids)
            for row, probe in enumerate(probes[start:end]):
                segment_ids = tokenizer.segment_ids(probe.premise, probe.hypothesis)
                segments[row, : len(segment_ids)] = segment_ids
        yield slice(start, end), feed
        start = end


def end_to_end(calls: Iterable[Call]) -> Iterator[Call]:
    """The same calls for a packed graph: their tokens without padding, int32; see :mod:`scorer.inference.packed`."""
    for rows, feed in calls:
        real = feed["attention_mask"].astype(bool)
        lengths = real.sum(axis=1)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        batch = Batch(np.arange(len(lengths)), int(lengths.max()), len(lengths), int(starts[-1]))
        tokens = {name: feed[name][real].astype(np.int32) for name in ("input_ids", "token_type_ids") if name in feed}
        yield rows, tokens | places(lengths, starts, batch)


def _run(session: Any, path: Path, calls: Iterable[Call], shape: tuple[int, ...]) -> Logits:
    logits = np.zeros(shape, np.float32)
    for rows, feed in calls:
        try:
            (out,) = session.run(["logits"], feed)
        except Exception as e:  # the runtime's exceptions share no base class but Exception
            raise BundleError(f"{path.name} does not run: {first_line(e)}; export with another --precision") from e
        if out.shape != logits[rows].shape or out.dtype != np.float32:
            raise BundleError(
                f"{path.name} gives logits {out.shape} {out.dtype}, expected {logits[rows].shape} float32"
            )
        logits[rows] = out
    return logits


def _session(path: Path, kind: str) -> Any:
    """A session that really runs on a kind of device; ``None`` if that is CUDA and does not start here."""
    try:
        return create_session(path, resolve_device(kind), thread_count())
    except DeviceError as e:
        if kind == "cuda":
            return None
        raise BundleError(f"{path.name} does not load: {first_line(e)}; export with another --precision") from e


def _up(value: float) -> float:
    """``value`` rounded up to three significant digits."""
    if value in (0.0, _INFINITY):
        return value
    return float(Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(value))
