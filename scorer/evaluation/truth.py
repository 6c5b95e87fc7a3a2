"""The gold labels that predictions are compared with, from columns that are named or have a usual name."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import ColumnError, UsageError
from ..scoring.output_columns import fine_codes, from_scores, rough_codes, rough_of
from .figures import Codes
from .gold import Scored
from .human import Ratings

_RESTAURANT = "eatType=restaurant"


@dataclass(frozen=True)
class Truth:
    """Gold labels, int8, *Shape:* (rows,), -1 for no label; and the names of their columns."""

    fine: Codes | None = None
    rough: Codes | None = None
    fine_name: str | None = None
    rough_name: str | None = None


def find_truth(
    scored: Scored, ratings: Ratings, gold_fine: str | None, gold_rough: str | None, threshold: float | None
) -> Truth:
    """The gold labels of a table.

    With ``threshold``, they are derived from the first human score. A run in which ``eatType=restaurant`` is optional
    is compared with gold in which it is optional too, if the table has such a column.

    Raises:
        ColumnError: a named column does not exist, has unknown labels or none at all, or there is no gold of any kind.
        UsageError: a threshold that is not a number.
    """
    if threshold is not None:
        if not math.isfinite(threshold):
            raise UsageError(f"--threshold {threshold:g} is not a rating; write a finite number")
        if not ratings.columns:
            raise ColumnError("--threshold needs a column of human scores; name it with --human")
        column = ratings.columns[0]
        return Truth(rough=from_scores(ratings.human(column), threshold), rough_name=f"{column} >= {threshold:g}")
    suffix = ""
    if _RESTAURANT in scored.optional and scored.has("gold_fine_ignore_restaurant"):
        suffix = "_ignore_restaurant"

    def present(name: str) -> str | None:
        return name + suffix if scored.has(name + suffix) else None

    fine_name = gold_fine or (None if gold_rough else present("gold_fine"))
    rough_name = gold_rough or (None if gold_fine else present("gold_rough"))
    for name in (fine_name, rough_name):
        if name and not scored.has(name):
            raise ColumnError(f"no gold column {name!r}; name an existing column")
    fine = fine_codes(scored.array(fine_name), fine_name) if fine_name else None
    rough = rough_codes(scored.array(rough_name), rough_name) if rough_name else None
    for name, codes in ((fine_name, fine), (rough_name, rough)):
        if codes is not None and not (codes >= 0).any() and (name in (gold_fine, gold_rough) or not ratings.columns):
            raise ColumnError(f"the gold column {name!r} has no label in any row; name another column")
    if rough is None and fine is not None:
        rough, rough_name = rough_of(fine), fine_name
    if rough is None and not ratings.columns:
        raise ColumnError(
            "nothing to compare with: no gold_fine, gold_rough or human_* column; name one with --gold-fine, "
            "--gold-rough or --human"
        )
    return Truth(fine, rough, fine_name, rough_name)
