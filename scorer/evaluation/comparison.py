"""Comparison of systems: all pairs over their common inputs, by the metric's labels or by a few human labels.

Without human labels a difference is one of the metric's own rates. With human labels of a sample it is the difference
of the true rates, since a metric may err more often for one system than for another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote

from ..errors import ColumnError, UsageError
from ..storage.location import Location
from ..system.codec import Record
from ..system.numbers import percent
from . import CompareOptions as CompareOptions
from .gold import find_inputs
from .label_figures import Indices
from .noted_texts import NOTE, exclude_notes, other_language_remark
from .sampling import LabelledOutput, read_labels
from .single_predicate import OMITTED, single_predicate_remarks
from .systems import CONTRADICTED, Agreement, ComparedPair, ComparedSystem, Systems
from .true_rates import RATES, read_all_labels

MOST_SYSTEMS = 50


class Comparison(Record, frozen=True, kw_only=True):
    """Output of ``scorer compare``.

    Attributes:
        headline: sentence on which system is better, or that the data cannot tell.
        path: name of the output.
        signature: signature of the run; ``None`` if the files have none.
        finished: whether the run is complete.
        by: column of the systems.
        labels: number of rows with a human label.
        excluded: number of texts that were left out for a note, by note.
        systems: systems from the best to the worst, by the not_OK rate: the true one, if there are human labels.
        pairs: pairs of systems that share inputs.
        agreement: agreement of the metric with people; empty without human labels.
        next: commands that give the true rates; empty with human labels.
    """

    schema: int = 1
    headline: str
    path: str
    signature: str | None
    finished: bool
    by: str
    labels: int
    excluded: dict[str, int]
    systems: list[ComparedSystem]
    pairs: list[ComparedPair]
    agreement: list[Agreement]
    next: list[str]


def compare(
    out: Location | Sequence[Location],
    name: str,
    labels: Sequence[Path],
    options: CompareOptions,
    note: Callable[[str], None],
) -> Comparison:
    """Compare all pairs of systems of an output.

    Args:
        out: an output, its parts, or a scored file.
        name: name of the output for messages.
        labels: files of ``scorer sample`` with labels of this output.
        options: the column of the systems, and that of the inputs.
        note: called with each remark for the reader of the figures.

    Raises:
        ColumnError: no column of systems, or none that identifies the inputs.
        UsageError: fewer than two systems, too many, or an unknown note; no two of them have a text for the same input.
        ScorerError: the output or the labels cannot be used.
    """
    columns = [column for column in (options.by, options.inputs) if column]
    figures = (CONTRADICTED.removesuffix("_rate"), NOTE, OMITTED)
    output = read_labels(out, name, columns, options.allow_partial, output_columns=figures, with_facts=True)
    if not output.scored.finished:
        note(f"{name} is not finished: the figures cover only the shards that are done")
    inputs = find_inputs(output.scored, output.output.columns, options.inputs)
    if not inputs.known:
        raise ColumnError(f"no column of {name} identifies the inputs; keep the facts, or name one with --input-column")
    codes, names = _systems_of(output, options.by)
    labels_by_row = read_all_labels(output, labels) if labels else {}
    output, labels_by_row, excluded = exclude_notes(output, labels_by_row, options.exclude_notes)
    if remark := other_language_remark(output, codes, names):
        note(remark)
    if any(label == "not_OK" for label in labels_by_row.values()):
        note("some labels are not_OK, which names no side: there are no true rates of omission and hallucination")
    compared = Systems(output, codes, names, inputs.codes, labels_by_row)
    systems, pairs = compared.systems(), compared.pairs()
    if not pairs:
        shared = "the same facts" if options.inputs is None else f"the same {options.inputs!r}"
        raise UsageError(
            f"{name}: no two values of {options.by!r} have a labelled text for the same input (rows with {shared}); "
            "compare needs texts of two systems for the same inputs; name a column of inputs with --input-column"
        )
    for remark in single_predicate_remarks(output, compared, pairs):
        note(remark)
    return Comparison(
        headline=headline(systems, pairs),
        path=name,
        signature=output.scored.signature,
        finished=output.scored.finished,
        by=options.by,
        labels=len(labels_by_row),
        excluded=excluded,
        systems=systems,
        pairs=pairs,
        agreement=compared.agreement(),
        next=[] if labels_by_row else next_commands(name, options, sum(system.rows for system in systems)),
    )


def _systems_of(output: LabelledOutput, by: str) -> tuple[Indices, list[str]]:
    """The system of each row, int64, *Shape:* (rows,), and the names of the systems: two or more, and not too many."""
    codes, names = output.groups(by)
    if len(names) < 2:
        raise UsageError(f"{output.name} has one value of {by!r} ({names[0]}); compare needs two systems or more")
    if len(names) > MOST_SYSTEMS:
        raise UsageError(f"{output.name} has {len(names):,} values of {by!r}, more than {MOST_SYSTEMS}; see --by")
    return codes, names


def next_commands(name: str, options: CompareOptions, rows: int) -> list[str]:
    """The two commands that give true rates of an output with so many rows."""
    number, path = min(200, max(60, rows // 2)), quote(name)
    by_option = "" if options.by == "system" else f" --by {quote(options.by)}"
    notes = "".join(f" --exclude-note {note}" for note in options.exclude_notes)
    return [
        f"scorer sample {path} --rows {number} --file labels.csv{by_option}",
        f"scorer compare {path} --labels labels.csv{by_option}{notes}",
    ]


def headline(systems: Sequence[ComparedSystem], pairs: Sequence[ComparedPair]) -> str:
    """A sentence on the system with the best not_OK rate, or on the number of inputs that would show a difference.

    Args:
        systems: systems, the best first.
        pairs: pairs of systems that share inputs.
    """
    best, *rivals = systems
    of_best = {pair.second if pair.first == best.system else pair.first: pair
               for pair in pairs if best.system in (pair.first, pair.second)}  # fmt: skip
    worse = [system for system in rivals if system.system in of_best and of_best[system.system].is_different]
    tied = [system for system in rivals if system.system in of_best and not of_best[system.system].is_different]
    without_inputs = [system for system in rivals if system.system not in of_best]
    parts = []
    if tied:
        group = [best, *tied]
        shares = joined([_share_of(system) for system in group])
        text = f"{joined([system.system for system in group])} cannot be told apart: {shares} of their texts are not OK"
        needed = [of_best[system.system].needed for system in tied]
        inputs = of_best[tied[0].system].pairs
        if numbers := [number for number in needed if number is not None]:
            condition = "" if best.true == {} else ", as large a share of them labelled"
            text += f" on {inputs:,} inputs; about {_rounded(max(numbers)):,} inputs would tell them apart{condition}"
        else:
            text += f" on {inputs:,} inputs"
        parts.append(text)
    if worse:
        shares = joined([_share_of(system) for system in worse])
        worse_names = joined([system.system for system in worse])
        if tied:
            parts.append(f"{worse_names} {'is' if len(worse) == 1 else 'are'} worse than {best.system}: {shares}")
        else:
            parts.append(
                f"{best.system} is better than {worse_names}: {_share_of(best)} of its texts are not OK, "
                f"against {shares}"
            )
    if without_inputs:
        parts.append(f"{joined([system.system for system in without_inputs])} shares no input with {best.system}")
    basis = "by human labels" if best.true else "by the metric's own labels, which may favour a system"
    return "; ".join(parts) + f" ({basis})"


def joined(names: Sequence[str]) -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``; the first five of many."""
    shown = list(names) if len(names) <= 6 else [*names[:5], f"{len(names) - 5} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _share_of(system: ComparedSystem) -> str:
    true = system.true.get(RATES[0])
    value = true.value if true is not None else system.rates[RATES[0]].value
    return percent(value) if value is not None else "none"


def _rounded(number: int) -> int:
    """Two significant digits, upwards."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit
