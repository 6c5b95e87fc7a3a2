"""The threshold of P(contradiction) from which an omitted fact counts as said wrongly, measured on the challenge set.

Facts that fail the check text → fact are of two kinds: the text gives another value, or it leaves the fact out. The set
has edited texts of both kinds, and its column ``fact`` names the fact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from ..inference.bundle import Contradiction
from ..metric.fact_templates import Templates
from ..metric.facts import Triple
from .challenge_set import read_challenge, read_templates

WRONG, LEFT_OUT = "wrong value", "omission"
"""The two kinds of changes that are compared."""
LARGEST_SHARE = 0.05
"""Largest share of left-out facts that may be called contradicted."""
_STEPS = 1000


def contradiction_pairs() -> tuple[list[tuple[str, str]], npt.NDArray[np.bool_]]:
    """The (text, fact) pairs on which the threshold is measured; bool, *Shape:* (pairs,): the text says another value,
    or else nothing."""
    table = read_challenge()
    kinds = pc.is_in(table["kind"], pc.cast([WRONG, LEFT_OUT], "string"))
    rows = table.filter(pc.and_(kinds, pc.equal(table["variant"], "edited"))).to_pylist()
    templates = Templates.from_dict(read_templates())
    pairs = [(row["text"], templates.fill(Triple(**row["triples"][row["fact"]])).text) for row in rows]
    return pairs, np.array([row["kind"] == WRONG for row in rows])


def choose_threshold(probabilities: npt.NDArray[np.float32], wrong: npt.NDArray[np.bool_]) -> Contradiction | None:
    """The smallest threshold, in thousandths, at which at most 5 % of the facts that are left out are called
    contradicted; ``None`` where no threshold tells wrong values from them.

    Args:
        probabilities: contradiction, neutral, entailment of each pair, float32, *Shape:* (pairs, 3).
        wrong: of :func:`contradiction_pairs`.
    """
    fails = probabilities[:, 2] <= probabilities[:, :2].max(axis=1)
    values, left_out = (probabilities[fails & kind, 0] for kind in (wrong, ~wrong))
    if not len(values) or not len(left_out):
        return None
    for step in range(1, _STEPS):
        threshold = step / _STEPS
        rates = [_share(group >= np.float32(threshold)) for group in (values, left_out)]
        if rates[1] <= LARGEST_SHARE:
            return Contradiction(threshold, *rates) if rates[0] > rates[1] else None
    return None


def _share(hits: Sequence[bool] | npt.NDArray[np.bool_]) -> float:
    return round(float(np.mean(hits)), 4)
