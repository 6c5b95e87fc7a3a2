"""A sample of rows judged under trial templates: which facts pass, and the texts of facts that fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import InputError, UsageError
from ..inference.verification import Engine
from ..metric import ColumnNames, Options, Reading, plain
from ..metric.checks import HALLUCINATION, OMISSION, Checks, build_checks
from ..metric.fact_templates import Templates
from ..metric.facts import Rows, Triple, take
from ..metric.inputs import find_columns
from ..metric.joining import join
from ..metric.slots import unquoted
from ..metric.verdict import passes
from ..storage.input_files import find_files
from ..storage.input_tables import read_tables
from ..system.files import Format

READ_ROWS = 4096
"""Most rows that are read; the sample is taken from them."""


def read_sample(
    inputs: Sequence[str], form: Format, delimiter: str | None, names: ColumnNames, size: int
) -> list[Rows]:
    """Rows of the beginning of some files, at even distances, in windows.

    Raises:
        InputError: no row can be scored, or the facts are sentences.
        ShardError, ColumnError: as a run would.
    """
    windows, rows, names = list[Rows](), 0, replace(names, keep=(), prefix="", details=False)
    for file in find_files(list(inputs), form, delimiter):
        for table in read_tables(file, lambda schema: find_columns(schema, names).needed, max_rows=READ_ROWS):
            window = find_columns(table.schema, names).rows(table)
            windows, rows = [*windows, window], rows + len(window)
            if rows >= READ_ROWS:
                break
        if rows >= READ_ROWS:
            break
    if any(window.triples.sentences for window in windows):
        raise InputError("the facts are sentences, which need no templates; give triples, attributes or slots")
    sample = thinned(windows, size)
    if not sum(len(window) - len(window.errors) for window in sample):
        raise InputError("no row of the sample can be scored; `scorer plan` with the same options says why")
    return sample


def thinned(windows: Sequence[Rows], size: int) -> list[Rows]:
    """At most ``size`` rows of some windows, at even distances; windows without a row are left out."""
    *starts, total = np.cumsum([0, *map(len, windows)]).tolist()
    sampled = np.unique((np.arange(min(size, total)) * max(1.0, total / size)).astype(np.int64))
    parts = [
        take(window, sampled[(sampled >= start) & (sampled < start + len(window))] - start)
        for window, start in zip(windows, starts, strict=True)
    ]
    return [part for part in parts if len(part)]


@dataclass(frozen=True)
class SampledRow:
    """A row and how it was judged."""

    text: str
    """The text as it is written."""
    read: str
    """The text as the model reads it."""
    facts: list[Triple]
    worded: list[str]
    """Each fact in words."""
    passed: list[bool]
    """Whether the text says the fact."""
    has_template: list[bool]
    """Whether a template or a sentence words the fact."""
    supported: bool
    """Whether the facts say the text."""
    values: dict[str, str]
    """The value of each predicate that the row has once, as the model reads it."""

    @property
    def is_ok(self) -> bool:
        """Whether the row is ``OK``."""
        return self.supported and all(self.passed)


class Trial:
    """A sample and a model. A pair of texts is predicted once, so that other templates cost only their new pairs.

    Args:
        engine: the open model.
        windows: the rows of the sample.
        options: of the run that is tried, without its reading.
    """

    def __init__(self, engine: Engine, windows: list[Rows], options: Options) -> None:
        self._engine, self._windows, self._options = engine, windows, options
        self._passed: dict[tuple[str, str], bool] = {}

    def limited(self, rows: int) -> Trial:
        """The same model and answers with fewer rows of the sample, at even distances."""
        trial = Trial(self._engine, thinned(self._windows, rows), self._options)
        trial._passed = self._passed
        return trial

    @property
    def has_backoff(self) -> bool:
        """Whether facts without a template can be judged."""
        return self._options.missing_template == "backoff"

    def judge(self, templates: Templates, reading: Reading) -> list[SampledRow]:
        """The rows without an error and with a text, under some templates."""
        options = replace(self._options, reading=reading)
        return [row for window in self._windows for row in self._judge(window, templates, options)]

    def _judge(self, window: Rows, templates: Templates, options: Options) -> Iterator[SampledRow]:
        joined = join(window, templates, options.optional)
        checks = build_checks(joined, templates, options)
        passed = self._ask_checks(checks)
        source, facts = joined.triples.of_rows, joined.triples
        fact_passed = np.ones(len(facts.ids), bool)
        is_omission = checks.kind == OMISSION
        fact_passed[checks.fact[is_omission]] = passed[is_omission]
        supported, text_of_row = dict[int, bool](), dict[int, str]()
        for number in np.flatnonzero(checks.kind == HALLUCINATION).tolist():
            row = int(checks.row[number])
            supported[row], text_of_row[row] = bool(passed[number]), checks.texts[checks.hypothesis[number]]
        passed_of, ids = facts.spread(fact_passed).tolist(), facts.spread(facts.ids)
        worded = [checks.texts[i] for i in checks.facts[ids].tolist()]
        backoff = checks.backoff[ids].tolist()
        for row in supported:
            start, end = source.offsets[row : row + 2].tolist()
            triples = [source.distinct[i] for i in source.ids[start:end].tolist()]
            yield SampledRow(
                text=window.texts[window.text_codes[row]] or "",
                read=text_of_row[row],
                facts=triples,
                worded=worded[start:end],
                passed=passed_of[start:end],
                has_template=[not is_backoff for is_backoff in backoff[start:end]],
                supported=supported[row],
                values=values_of(triples, templates, options.reading),
            )

    def _ask_checks(self, checks: Checks) -> npt.NDArray[np.bool_]:
        texts = checks.texts
        pairs = zip(checks.premise.tolist(), checks.hypothesis.tolist(), strict=True)
        return np.array(self.ask([(texts[premise], texts[hypothesis]) for premise, hypothesis in pairs]), bool)

    def ask(self, pairs: Iterable[tuple[str, str]]) -> list[bool]:
        """Whether each premise entails its hypothesis; a pair that the model cannot take does not."""
        pairs = list(pairs)
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self._passed))
        if new:
            ids: dict[str, int] = {}
            premises = np.array([ids.setdefault(premise, len(ids)) for premise, _ in new], np.int32)
            hypotheses = np.array([ids.setdefault(hypothesis, len(ids)) for _, hypothesis in new], np.int32)
            predictions = self._engine.predict(self._engine.encode(list(ids), premises, hypotheses))
            self._passed.update(
                zip(new, passes(predictions.probabilities, predictions.threshold).tolist(), strict=True)
            )
        return [self._passed[pair] for pair in pairs]


def values_of(triples: Iterable[Triple], templates: Templates, reading: Reading) -> dict[str, str]:
    """The value of each predicate that a row has once, as the model reads it."""
    values: dict[str, str] = {}
    repeated: set[str] = set()
    for triple in triples:
        predicate = templates.canonical(triple.predicate)
        repeated |= {predicate} & values.keys()
        value = unquoted(triple.object).replace("_", " ")
        values[predicate] = plain.notation(value) if reading == "plain" else value
    return {predicate: value for predicate, value in values.items() if predicate not in repeated}


def check_settings(options: Options, names: ColumnNames) -> None:
    """Refuse settings under which templates decide nothing.

    Raises:
        UsageError: the protocol has no templates, or omissions are not looked for.
    """
    if options.protocol == "factspotter":
        raise UsageError("--protocol factspotter uses no templates; leave it out to try templates")
    if options.sides != "both" or names.document is not None:
        raise UsageError("templates are tried by the facts that texts omit; leave out --checks and --document-column")
