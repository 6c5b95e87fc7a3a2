"""Differences between systems that rest on the facts of one predicate, such as one whose template is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow.compute as pc

from ..metric.inputs import read_facts
from ..metric.verdict import FINE
from ..stats.paired import paired_rate, pairs_of
from ..system.numbers import percent
from .label_figures import Mask
from .omitted_facts import find_omissible_facts
from .sampling import LabelledOutput
from .systems import ComparedPair, Systems

OMITTED = "omitted"
OMISSION = FINE.index("omission")


def single_predicate_remarks(output: LabelledOutput, compared: Systems, pairs: Sequence[ComparedPair]) -> Iterator[str]:
    """A sentence for each pair of systems that differ significantly by the metric, but not without one predicate.

    Without a predicate, rows that are not OK only since they omit facts of it count as OK. Of several such predicates
    the one that accounts for most of the difference is named.
    """
    different = [pair for pair in pairs if pair.is_different and not pair.true]
    masks = rows_of_one_predicate(output) if different else {}
    for pair in different:
        first, second = (compared.names.index(name) for name in (pair.first, pair.second))
        of_first, of_second = compared.common_rows(first, second)
        rates = {}
        for predicate, is_single in masks.items():
            not_ok = (output.fine > 0) & ~is_single
            rates[predicate] = paired_rate(pairs_of(not_ok[of_first], not_ok[of_second], compared.inputs[of_first]))
        chance = [predicate for predicate, rate in rates.items() if rate.low <= 0 <= rate.high]
        if chance:
            predicate = min(chance, key=lambda name: abs(rates[name].difference))
            shares = [percent(rate.value or 0.0) for rate in (rates[predicate].first, rates[predicate].second)]
            yield (
                f"{pair.first} and {pair.second} differ significantly only by the facts of {predicate!r}: without "
                f"omissions of them {shares[0]} and {shares[1]} are not OK, which can be chance; read some of the rows"
            )


def rows_of_one_predicate(output: LabelledOutput) -> dict[str, Mask]:
    """By predicate, the rows that are omissions alone, and of its facts alone. bool, *Shape:* (rows,) each."""
    columns, table = output.output.columns, output.scored.table
    fact_column = find_omissible_facts(table.schema, columns)
    if fact_column is None:
        return {}
    facts = read_facts(output.output.with_marks(table), *fact_column, columns.subject)
    omitted = table[columns.output(OMITTED)].combine_chunks()
    rows = np.asarray(pc.list_parent_indices(omitted))
    positions = facts.offsets[rows] + np.asarray(omitted.flatten(), np.int64)
    codes: dict[str, int] = {}
    predicates = np.array([codes.setdefault(triple.predicate, len(codes)) for triple in facts.distinct], np.int64)
    is_readable = positions < facts.offsets[rows + 1]
    rows, of_fact = rows[is_readable], predicates[facts.ids[positions[is_readable]]]
    least, greatest = np.full(len(table), len(codes), np.int64), np.full(len(table), -1, np.int64)
    np.minimum.at(least, rows, of_fact)
    np.maximum.at(greatest, rows, of_fact)
    is_single = (least == greatest) & (output.fine == OMISSION)
    masks = {predicate: is_single & (least == code) for predicate, code in codes.items()}
    return {predicate: mask for predicate, mask in masks.items() if mask.any()}
