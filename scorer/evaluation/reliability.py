"""How far human ratings agree with themselves: what no metric can be expected to exceed.

By sentence the ceiling is the square root of the reliability of a text's mean rating, ICC(1, k) of Shrout & Fleiss
(Psychological Bulletin, 1979), since a text's raters differ from those of the next. By system, the ratings of half of
the inputs are compared with those of the other half.
"""

from __future__ import annotations

import math

import numpy as np

from .bootstrap import SEED, Floats, Indices
from .label_report import HalvesCeiling, SentenceCeiling

SPLITS = 200


def sentence_ceiling(texts: Indices, ratings: Floats) -> SentenceCeiling:
    """The reliability of one rating, and of the mean of the ratings of a text.

    Args:
        texts: int64, *Shape:* (annotations,), the text of each.
        ratings: float64, *Shape:* (annotations,), NaN for none.

    Returns: figures are ``None`` with fewer than two texts, or if no text has two ratings.
    """
    there = ~np.isnan(ratings)
    groups, ratings = np.unique(texts[there], return_inverse=True)[1], ratings[there]
    counts = np.bincount(groups, minlength=1)
    n, many = len(ratings), int((counts > 0).sum())
    result = SentenceCeiling(texts=many, ratings=n, icc_1=None, icc_k=None, ceiling=None)
    if many < 2 or n <= many:
        return result
    means = np.bincount(groups, weights=ratings) / counts
    between = float((counts * (means - ratings.mean()) ** 2).sum()) / (many - 1)
    within = float(((ratings - means[groups]) ** 2).sum()) / (n - many)
    size = (n - float((counts.astype(np.float64) ** 2).sum()) / n) / (many - 1)
    if between <= 0:
        return result
    result["icc_1"] = (between - within) / (between + (size - 1) * within)
    of_mean = (between - within) / between
    result["icc_k"], result["ceiling"] = of_mean, math.sqrt(max(0.0, of_mean))
    return result


def halves_ceiling(ratings: Floats, systems: Indices, inputs: Indices, splits: int = SPLITS) -> HalvesCeiling:
    """Pearson's correlation of the systems' mean ratings on one half of the inputs with those on the other.

    Args:
        ratings: float64, *Shape:* (rows,), NaN for none. systems, inputs: int64, *Shape:* (rows,).

    Returns: the mean over random splits, what it says of the means over all inputs (Spearman & Brown), and the root of
    that, which no metric's correlation is expected to exceed. It is a lower bound of the ceiling: that a system does
    better on some inputs than on others counts as noise here, and a metric sees the same inputs.
    """
    there = ~np.isnan(ratings)
    _, systems = np.unique(systems[there], return_inverse=True)
    names, inputs = np.unique(inputs[there], return_inverse=True)
    ratings = ratings[there]
    many = int(systems.max(initial=-1)) + 1
    result = HalvesCeiling(systems=many, inputs=len(names), halves=None, full=None, ceiling=None)
    if many < 3 or len(names) < 4:
        return result
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(splits):
        first = rng.permutation(len(names)) < len(names) // 2
        means = [_means(ratings, systems, many, mask) for mask in (first[inputs], ~first[inputs])]
        known = ~np.isnan(means[0]) & ~np.isnan(means[1])
        if known.sum() >= 3 and all(np.ptp(one[known]) > 0 for one in means):
            found.append(float(np.corrcoef(means[0][known], means[1][known])[0, 1]))
    if found:
        halves = float(np.mean(found))
        result["halves"], result["full"] = halves, 2 * halves / (1 + halves) if halves > -1 else None
        if result["full"] is not None and result["full"] >= 0:
            result["ceiling"] = math.sqrt(result["full"])
    return result


def _means(ratings: Floats, systems: Indices, many: int, chosen: np.ndarray) -> Floats:
    counts = np.bincount(systems[chosen], minlength=many)
    sums = np.bincount(systems[chosen], weights=ratings[chosen], minlength=many)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), np.float64)
