"""How far human ratings agree with themselves: what no metric can be expected to exceed.

By sentence the ceiling is the square root of the reliability of a text's mean rating, ICC(1, k) of Shrout & Fleiss
(Psychological Bulletin, 1979), by system that of a system's mean over inputs, which all systems share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.evaluation.correlation import available
from scorer.evaluation.gold import find_inputs, load
from scorer.evaluation.label_figures import Ends, Floats, Indices, bootstrap_interval, ratio
from scorer.evaluation.ratings import rating_columns
from scorer.scoring.output_columns import group_codes, numbers
from scorer.scoring.outputs import Output


def sentence_ceiling(
    texts: Indices, ratings: Floats, inputs: Indices | None = None, resamples: int = 0
) -> dict[str, Any]:
    """The reliability of one rating, and of the mean of a text's ratings; ``None`` with fewer than two texts, or if no
    text has two ratings.

    Args:
        texts, inputs: int64, *Shape:* (annotations,), of each; texts of one input are drawn together. ``None``: each
            text is its own.
        ratings: float64, *Shape:* (annotations,), NaN for none.
        resamples: number of bootstrap samples; 0 for no interval.
    """
    there = ~np.isnan(ratings)
    owners = texts if inputs is None else inputs
    _, first, groups = np.unique(texts[there], return_index=True, return_inverse=True)
    ratings, of_text = ratings[there], np.unique(owners[there][first], return_inverse=True)[1]
    counts = np.bincount(groups)
    result: dict[str, Any] = {"texts": len(counts), "ratings": len(ratings)}
    result |= dict.fromkeys(("icc_1", "icc_k", "ceiling", "interval"))
    if len(counts) < 2 or len(ratings) <= len(counts):
        return result
    centred = ratings - ratings.mean()
    sums = np.bincount(groups, weights=centred)
    of_texts = np.stack([np.ones(len(counts)), counts, counts**2, sums, sums**2 / counts,
                         np.bincount(groups, weights=centred**2)])  # fmt: skip
    by_input = np.stack([np.bincount(of_text, weights=column).astype(np.float64) for column in of_texts])
    one, of_mean = _reliability(by_input.sum(axis=1, keepdims=True))
    if np.isnan(of_mean[0]):
        return result
    result["icc_1"], result["icc_k"] = float(one[0]), float(of_mean[0])
    result["ceiling"] = math.sqrt(max(0.0, float(of_mean[0])))
    ends = bootstrap_interval(lambda times: _reliability(by_input @ times.T)[1], by_input.shape[1], resamples)
    result["interval"] = _roots(ends)
    return result


def _reliability(sums: Floats) -> tuple[Floats, Floats]:
    """ICC(1, 1) and ICC(1, k), NaN where texts do not differ at all. *Shape:* (samples,) each.

    ``sums``: over texts of 1, ratings, their square, the centred sum, its square over the ratings, the squares.
    """
    texts, n, n2, total, squared, squares = sums
    between = ratio(squared - total**2 / n, texts - 1)
    within = ratio(squares - squared, n - texts)
    size = ratio(n - n2 / n, texts - 1)
    return ratio(between - within, between + (size - 1) * within), ratio(between - within, between)


def _roots(ends: Ends) -> Ends:
    return None if ends is None else [math.sqrt(max(0.0, end)) for end in ends]


def system_ceiling(ratings: Floats, systems: Indices, inputs: Indices) -> dict[str, Any]:
    """The reliability of the systems' mean ratings over the inputs that all of them have: ICC(C, k) of McGraw & Wong
    (Psychological Methods 1, 1996); ``None`` with fewer than three systems or four inputs, and where systems do not
    differ. A lower bound of the ceiling: that a system does better on some inputs than on others counts as noise.

    Args:
        ratings: float64, *Shape:* (rows,), NaN for none. systems, inputs: int64, *Shape:* (rows,).
    """
    cells = np.full((int(inputs.max(initial=-1)) + 1, int(systems.max(initial=-1)) + 1), np.nan)
    cells[inputs, systems] = ratings
    cells = cells[:, ~np.isnan(cells).all(axis=0)]
    cells = cells[~np.isnan(cells).any(axis=1)]
    (n, k), result = cells.shape, dict[str, Any].fromkeys(("icc_k", "ceiling", "interval"))
    result |= {"systems": k, "inputs": n}
    if k < 3 or n < 4:
        return result
    centred = cells - cells.mean(axis=1, keepdims=True)
    means = centred.mean(axis=0)
    between, rest = n * (means**2).sum() / (k - 1), ((centred - means) ** 2).sum() / ((n - 1) * (k - 1))
    if between > 0:
        result["icc_k"] = float(1 - rest / between)
        result["ceiling"] = math.sqrt(max(0.0, result["icc_k"]))
    if between > 0 and available():
        from scipy.stats import f

        quantiles = f.ppf((0.975, 0.025), k - 1, (k - 1) * (n - 1))
        result["interval"] = _roots([1 - rest / between * float(quantile) for quantile in quantiles])
    return result


def ceilings(path: Path, annotations: Path | None, exclude: Sequence[str], resamples: int) -> dict[str, dict[str, Any]]:
    """By column of ratings of a scored output: the ceiling by ``system``, and by ``sentence`` with a file of single
    ratings, whose ``row_id`` is the ``id`` of a text of the output. ``exclude``: systems."""
    output = Output.open(path)
    scored = load(output)
    if exclude:
        excluded = pc.is_in(scored.table["system"].cast(pa.string()), pa.array(exclude))
        scored = replace(scored, table=scored.table.filter(pc.invert(excluded)))
    inputs = find_inputs(scored, output.columns, None).codes
    found: dict[str, dict[str, Any]] = {}
    columns = rating_columns(scored.table.schema.names, ())
    if scored.has("system"):
        systems = scored.groups("system")[0]
        for column in columns:
            ratings = numbers(scored.array(column), column)
            found.setdefault(column, {})["system"] = system_ceiling(ratings, systems, inputs)
    if annotations is not None:
        single = load(Output.open(annotations))
        texts, ids = single.array("row_id").cast(pa.string()), scored.array("id").cast(pa.string())
        rows = pc.index_in(texts, value_set=ids, skip_nulls=True)
        there = rows.is_valid().to_numpy(zero_copy_only=False)
        owners, codes = inputs[rows.drop_null().to_numpy()], group_codes(texts, "text")[0][there]
        for column in columns:
            ratings = numbers(single.array(column), column)[there]
            found.setdefault(column, {})["sentence"] = sentence_ceiling(codes, ratings, owners, resamples)
    return found
