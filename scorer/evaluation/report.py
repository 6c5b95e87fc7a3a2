"""The whole evaluation as one object: the JSON of ``--json``, and the source of the console tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NotRequired

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ColumnError, UsageError, install_hint
from ..metric.verdict import EMPTY_TEXT
from ..scoring.output_columns import NO_LABEL, numbers
from ..scoring.outputs import Output
from ..storage.finished_output import locations_of
from ..storage.location import Location
from . import EvaluateOptions, correlation
from .against import AgainstBlock, compare_metrics
from .calibration import CalibrationBlock, Ranking, calibration, ranking
from .gold import SLOT_COUNTS, Scored, fact_columns, find_gold, find_inputs, load, predicted
from .label_figures import Blocks, Indices, Labels, Mask
from .omission_kinds import COLUMNS, KindFigures, kind_figures
from .ratings import ALL, CorrelationLine, MetricLine, Ratings, base_column, known_metrics, rating_columns

MAX_GROUPS = 1000
MAX_INTERVALS = 100  # with more groups than this, the groups have no intervals
SUSPECT = "gold_suspect"
_NO_CORRELATION = CorrelationLine(metric=None, human=None, level=None, n=0, pearson=None, spearman=None, kendall=None)
_OUTPUT = ("fine", "rough", "confidence", *COLUMNS, "fact_entailment", "text_entailment", "error", "note", "row_key")


class LabelReport(Blocks):
    """The JSON of ``scorer evaluate``; the console shows the same object.

    Figures are from 0 to 1 and correlations from -1 to 1, ``None`` where undefined: without a denominator, with fewer
    than three values, with a constant column, or without the extra ``stats``. Intervals are 95 % over inputs. Keys that
    are ``NotRequired`` are absent where the run or its gold has nothing to say about them.
    """

    schema: int
    """Version of the format."""
    path: str
    """Name of the output."""
    signature: str | None
    """Signature of the run; ``None`` if the files have none."""
    finished: bool
    """Whether the run is complete."""
    rows: int
    """Rows under evaluation."""
    errors: dict[str, Any]
    """Rows with an error: their number ``n``, and ``kinds``, numbers by kind."""
    unlabelled: int
    """Rows that a baseline of scores gave no label."""
    excluded_systems: list[str]
    """Systems of ``--exclude-system``."""
    gold: dict[str, str | None]
    """Columns of the FINE and the ROUGH gold labels."""
    resamples: int
    """Number of bootstrap samples of inputs."""
    strawmen: NotRequired[dict[str, Blocks]]
    """Figures of trivial predictions, by name."""
    by: NotRequired[dict[str, list[Blocks]]]
    """By column, the figures of the rows with each of its values."""
    without_suspect: NotRequired[Blocks]
    """Figures without the rows of suspect gold."""
    ranking: NotRequired[Ranking]
    """Confidence as a predictor of not_OK."""
    correlation: CorrelationLine
    """The first metric with the first rating."""
    correlations: list[CorrelationLine]
    """All metrics with all ratings."""
    metrics: NotRequired[list[MetricLine]]
    """Metrics next to one another, with ``--metric all``."""
    calibration: NotRequired[CalibrationBlock]
    """Reliability of the confidence, with ``--calibration``."""
    against: NotRequired[AgainstBlock]
    """Comparison with a rival output, with ``--against``."""
    omissions: NotRequired[dict[str, KindFigures]]
    """Facts said wrongly and left out, where the run and the slot counts distinguish them."""


def evaluate(
    out: Location | Sequence[Location], options: EvaluateOptions, note: Callable[[str], None] = lambda message: None
) -> LabelReport:
    """Evaluate the output of a run or its parts, a scored file, or a folder of them.

    Args:
        note: called with each remark for the reader of the figures: a missing extra, rows with errors, an unfinished
            run.

    Raises:
        ScorerError: nothing to read, files of different signatures, no gold, a column missing or of a wrong type.
    """
    output = Output.open(*locations_of(out), allow_partial=options.allow_partial)
    return _Evaluation(output, options, note).report()


def disagreements(out: Location | Sequence[Location], options: EvaluateOptions) -> pa.Table:
    """The rows with a label other than the gold one, with all their columns; FINE labels where the gold has them.

    Raises:
        UsageError: there is no gold.
        ScorerError: as :func:`evaluate`.
    """
    output = Output.open(*locations_of(out), allow_partial=options.allow_partial)
    labels = _Evaluation(output, options, lambda message: None).labels
    if labels is None:
        raise UsageError("there are no gold labels to disagree with; name a column with --gold-fine or --gold-rough")
    wrong = (labels.gold_rough >= 0) & (labels.rough != labels.gold_rough)
    if labels.gold_fine is not None and labels.fine is not None:
        wrong |= (labels.gold_fine >= 0) & (labels.fine != labels.gold_fine)
    return _without(load(output), options).table.filter(pa.array(wrong))


class _Evaluation:
    """One table under evaluation."""

    def __init__(self, output: Output, options: EvaluateOptions, note: Callable[[str], None]) -> None:
        names, columns = output.names, output.columns
        if options.prefix is not None:
            columns = replace(columns, prefix=options.prefix)
        for column in (*options.by, *options.human):
            if column not in names:
                raise ColumnError(f"no column {column!r} in {output.name}; the columns are {', '.join(names)}")
        self.path, self.options, self.note, self.columns = output.name, options, note, columns
        requested = [name for name in options.metrics if name != ALL]
        self.metrics, self.table = requested or ["confidence"], list[str]()
        """The metrics, and those to put next to one another, if asked for."""
        if ALL in options.metrics:
            self.table = list(dict.fromkeys([*known_metrics(names, columns), *requested]))
        ratings = rating_columns(names, options.human)
        scored = load(output, [*self._wanted(names, fact_columns(columns)), *ratings])
        self._tell(scored)
        self.scored = scored = _without(scored, options)
        self.rows = len(scored.table)
        self.inputs = find_inputs(scored, columns, options.inputs)
        self.resamples = options.resamples if self.inputs.known else 0
        if options.resamples and not self.inputs.known:
            note("no intervals: no column identifies the inputs; keep the facts, or name a column with --input-column")
        self.errors = self._text("error")
        self.failed = self.errors.is_valid().to_numpy(zero_copy_only=False)
        self.gold: dict[str, str | None] = {"fine": None, "rough": None}
        self.ratings = Ratings(scored, columns, ratings, options.system, self.inputs.codes, self.resamples)
        self.labels, self.unlabelled = self._labels()

    def _wanted(self, names: Sequence[str], facts: Sequence[str]) -> Iterator[str]:
        """The columns to read, if they exist: of facts, of gold, of scores, and those of the options."""
        options = self.options
        yield from (name for name in names if name.startswith("gold_"))
        yield from (*facts, *SLOT_COUNTS, SUSPECT, *map(self.columns.output, _OUTPUT))
        for name in (*self.metrics, *self.table):
            yield from (name, base_column(name), self.columns.output(base_column(name)))
        option_columns = (options.gold_fine, options.gold_rough, options.system, options.inputs, *options.by)
        yield from (name for name in option_columns if name)

    def _tell(self, scored: Scored) -> None:
        if not scored.finished:
            self.note(f"{self.path} is not finished: the figures cover only the shards that are done")
        if not correlation.available():
            self.note(f"correlations are null: {install_hint('stats')}")
        if scored.sides != "both":
            self.note(
                f"this run checked for {scored.sides}s only: of errors, only figures of {scored.sides} are meaningful"
            )

    def report(self) -> LabelReport:
        """The whole evaluation."""
        options, resamples = self.options, self.resamples
        counted = pc.value_counts(self.errors.drop_null()).to_pylist()
        kinds = {kind["values"]: kind["counts"] for kind in sorted(counted, key=lambda kind: str(kind["values"]))}
        if self.failed.any():
            self.note(f"{int(self.failed.sum()):,} of {self.rows:,} rows have errors; they count as not_OK")
        # Without gold the same keys, without a figure.
        no_labels = np.full(self.rows, NO_LABEL, np.int8)
        labels = self.labels or Labels(None, no_labels, None, no_labels, self.inputs.codes)
        lines = self.ratings.correlations(self.metrics)
        result: LabelReport = {
            "schema": 1,
            "path": self.path,
            "signature": self.scored.signature,
            "finished": self.scored.finished,
            "rows": self.rows,
            "errors": {"n": int(self.failed.sum()), "kinds": kinds},
            "unlabelled": int(self.unlabelled.sum()),
            "excluded_systems": list(options.exclude_systems),
            "gold": self.gold,
            "resamples": resamples,
            **labels.figures(resamples=resamples if self.labels else 0),
            "correlation": lines[0] if lines else _NO_CORRELATION,
            "correlations": lines,
        }
        if (omissions := kind_figures(self.scored, self.columns)) is not None:
            result["omissions"] = omissions
        if self.labels is not None:
            self._add_extras(result, self.labels)
        if self.table:
            is_empty = pc.fill_null(pc.equal(self._text("note"), EMPTY_TEXT), False)
            result["metrics"] = self.ratings.table(
                self.table, ~np.asarray(is_empty.to_numpy(zero_copy_only=False), bool)
            )
        if options.calibration:
            result["calibration"] = self._calibration()
        if options.against is not None:
            rival = Output.open(options.against, allow_partial=options.allow_partial)
            result["against"] = compare_metrics(self.scored, self.labels, self.ratings, rival, self.note)
        return result

    def _calibration(self) -> CalibrationBlock:
        if self.labels is None:
            raise UsageError("--calibration compares with gold labels, and there are none; name them with --gold-rough")
        if not self.inputs.known:
            raise UsageError("--calibration holds out whole inputs, and no column identifies them; see --input-column")
        confidence = self.ratings.metric("confidence")
        if confidence is None:
            raise ColumnError("--calibration needs a column 'confidence'; score the data first")
        used = (self.labels.gold_rough >= 0) & ~np.isnan(confidence)
        if used.any() and not 0 <= confidence[used].min() <= confidence[used].max() <= 1:
            outside = confidence[used][(confidence[used] < 0) | (confidence[used] > 1)][0]
            raise UsageError(f"--calibration compares probabilities, but a confidence is {outside:g}; leave it out")
        right = self.labels.gold_rough[used] == 0
        return calibration(confidence[used], right, self.inputs.codes[used], self.resamples)

    def _add_extras(self, result: LabelReport, labels: Labels) -> None:
        """Add further figures that gold labels allow to the figures of all rows."""
        judged = labels.gold_rough >= 0
        result["strawmen"], result["by"] = labels.trivial(), {}
        suspect = np.zeros(self.rows, bool)
        if self.scored.has(SUSPECT):
            suspect = (numbers(self.scored.array(SUSPECT), SUSPECT) > 0) & judged
        if suspect.any():
            result["without_suspect"] = labels.figures(~suspect, resamples=self.resamples)
        for name, codes, values in self._groups():
            samples = self.resamples if len(values) <= MAX_INTERVALS else 0
            lines = [labels.figures(codes == code, resamples=samples) for code in range(len(values))]
            groups: list[Blocks] = [{"value": value, **line} for value, line in zip(values, lines, strict=True)]
            result["by"][name] = [line for line in groups if line["rough"]["n"]]
        confidence = self.ratings.metric("confidence", required=False)
        if confidence is not None:
            shown = np.where(judged, confidence, np.nan)
            result["ranking"] = ranking(shown, labels.gold_rough == 1, self.inputs.codes, self.resamples)

    def _labels(self) -> tuple[Labels | None, Mask]:
        """Predictions and gold (``None`` if there is no gold of either kind), and a mask of the rows without a
        label."""
        options = self.options
        fine, rough = predicted(self.scored, self.columns)
        unlabelled = (rough < 0) & ~self.failed
        gold = find_gold(self.scored, self.ratings.columns, options.gold_fine, options.gold_rough, options.threshold)
        self.gold = {"fine": gold.fine_name, "rough": gold.rough_name}
        if gold.rough is None:
            return None, np.zeros(self.rows, bool)
        if unlabelled.all():
            return None, unlabelled
        gold_fine, gold_rough = (
            None if codes is None else np.where(unlabelled, NO_LABEL, codes).astype(np.int8)
            for codes in (gold.fine, gold.rough)
        )
        assert gold_rough is not None
        if options.exclude_systems and not (gold_rough >= 0).any():
            raise UsageError("--exclude-system leaves no row with gold; exclude fewer systems")
        return Labels(fine, rough, gold_fine, gold_rough, self.inputs.codes), unlabelled

    def _groups(self) -> Iterator[tuple[str, Indices, list[Any]]]:
        """Columns to group by: a name, the group of each row, and the value of each group."""
        if self.inputs.lengths is not None:
            counts, codes = np.unique(self.inputs.lengths, return_inverse=True)
            yield "n_triples", codes, counts.tolist()
        for name in dict.fromkeys([self.options.system, *self.options.by]):
            if self.scored.has(name):
                codes, values = self.scored.groups(name)
                if len(values) > MAX_GROUPS:
                    raise UsageError(
                        f"column {name!r} has {len(values):,} values; at most {MAX_GROUPS} groups are shown"
                    )
                yield name, codes, values

    def _text(self, name: str) -> pa.Array:
        column = self.columns.output(name)
        if not self.scored.has(column):
            return pa.nulls(self.rows, pa.string())
        array = self.scored.array(column)
        if pa.types.is_nested(array.type):
            raise ColumnError(
                f"column {column!r} is {array.type}, but a run writes strings there; pass the run's --prefix"
            )
        return array.cast(pa.string())


def _without(scored: Scored, options: EvaluateOptions) -> Scored:
    """The rows of all but the excluded systems."""
    if not options.exclude_systems:
        return scored
    if not scored.has(options.system):
        raise ColumnError(f"--exclude-system: no column {options.system!r}; name the column with --system-column")
    codes, values = scored.groups(options.system)
    names = [str(value) for value in values]
    absent = [name for name in options.exclude_systems if name not in names]
    if absent:
        raise UsageError(f"--exclude-system {absent[0]!r}: no such system; the systems are {', '.join(names)}")
    excluded = np.array([name in options.exclude_systems for name in names])
    return replace(scored, table=scored.table.filter(pa.array(~excluded[codes])))
