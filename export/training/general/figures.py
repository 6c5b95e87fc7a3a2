"""Figures of the model card that `scorer evaluate` does not give: NLI sets, string match, flagged sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.metric.triples import Triple
from scorer.metric.verdict import FINE

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Statistic = Callable[[Floats, Floats], float]
RESAMPLES = 1000


def side_figures(gold: npt.NDArray[np.bool_], found: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Precision, recall and F1 of one side. *Shape:* (rows,) each."""
    hit = int((gold & found).sum())
    precision, recall = hit / max(1, int(found.sum())), hit / max(1, int(gold.sum()))
    f1 = 2 * hit / max(1, int(gold.sum()) + int(found.sum()))
    return {"precision": precision, "recall": recall, "f1": f1, "gold": int(gold.sum())}


def label_figures(gold: list[str], found: list[str]) -> dict[str, Any]:
    """Accuracy FINE and ROUGH, macro-F1 over the four FINE labels, and each side on its own."""
    g, f = np.array(gold), np.array(found)
    both = {side: (np.char.find(g, side) >= 0, np.char.find(f, side) >= 0) for side in ("omission", "hallucination")}
    return {
        "rows": len(gold),
        "fine": float((g == f).mean()),
        "rough": float(((g == "OK") == (f == "OK")).mean()),
        "macro_f1": float(np.mean([side_figures(g == label, f == label)["f1"] for label in FINE])),
        **{side: side_figures(*pair) for side, pair in both.items()},
    }


def nli_hits(gold: Sequence[str], found: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which labels are right; entailment against the rest where the gold has fewer than three classes.

    The rest is one class there, since a two-way set does not say which of *neutral* and *contradiction* it means.
    *Shape:* (pairs,), as both arguments.
    """
    g, f = np.array(gold), np.array(found)
    if len(set(gold)) < 3:
        g, f = g == "entailment", f == "entailment"
    return np.asarray(g == f)


def letters(value: str) -> str:
    """Letters and digits alone, lower case, without accents: systems write blanks and signs in many ways."""
    return "".join(c for c in unicodedata.normalize("NFKD", value).lower() if c.isalnum())


def string_match(triples: Iterable[Triple], text: str) -> float:
    """The rival: share of the distinct subjects and objects whose letters occur in the text's."""
    values = {letters(value) for t in triples for value in (t.subject, t.object)}
    low = letters(text)
    return sum(value in low for value in values) / len(values)


def difference(
    first: Floats, second: Floats, human: Floats, inputs: Ints, statistic: Statistic, seed: int = 0
) -> tuple[float, float, float]:
    """How much better `first` correlates with `human` than `second` does, and its 95 % interval over inputs.

    Percentile bootstrap that draws whole inputs, since rows of one input share their facts; NaN where undefined.
    *Shape:* (rows,) each.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(inputs, kind="stable")
    names, starts = np.unique(inputs[order], return_index=True)
    groups = np.split(order, starts[1:])
    drawn = np.empty(RESAMPLES)
    for b in range(RESAMPLES):
        rows = np.concatenate([groups[i] for i in rng.integers(0, len(names), len(names))])
        drawn[b] = statistic(first[rows], human[rows]) - statistic(second[rows], human[rows])
    there = drawn[~np.isnan(drawn)]
    low, high = np.percentile(there, [2.5, 97.5]) if len(there) else (np.nan, np.nan)
    return statistic(first, human) - statistic(second, human), float(low), float(high)


def within_inputs(score: Floats, human: Floats, inputs: Ints, statistic: Statistic) -> float:
    """Mean over inputs of the correlation among the rows of one input, where defined; NaN if it is nowhere.

    *Shape:* (rows,) each; float64, and int64 for ``inputs``.
    """
    found = np.array([statistic(score[inputs == i], human[inputs == i]) for i in np.unique(inputs)])
    there = found[~np.isnan(found)]
    return float(there.mean()) if len(there) else float("nan")


def precision_at(score: Floats, wrong: npt.NDArray[np.bool_], count: int) -> float:
    """Share of really wrong ones among the `count` lowest scores; of equal scores the first ones count.

    *Shape:* (sentences,) each.
    """
    return float(wrong[np.argsort(score, kind="stable")[:count]].mean())
