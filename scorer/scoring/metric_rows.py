"""The metric as a run drives it: the :class:`.row_scorer.RowScorer` of entailment checks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import metadata

import pyarrow as pa

from ..inference.device import PADDED
from ..inference.engine import EXACT_PAIRS, ExactBound
from ..inference.session import runtime
from ..metric.inputs import InputColumns, find_columns
from ..stats.percentages import percent
from ..storage import Counts
from ..storage.location import Location
from .origin import Origin
from .plan import Budgets
from .reuse import Reuse, open_sources
from .row_scorer import Caveats, Known, Report, Starts
from .scorer import Scorer
from .settings import Settings
from .signature import Signature
from .throughput import speed
from .windows import Mark, ScoredWindow, Tag, TextColumns, Window


def metric_versions() -> dict[str, str]:
    """Versions of the packages that turn texts into probabilities."""
    return {"onnxruntime": str(runtime().__version__), "tokenizers": metadata.version("tokenizers")}


@dataclass(frozen=True)
class MetricRows:
    """The metric, row by row."""

    scorer: Scorer

    @property
    def signature(self) -> Signature:
        return self.scorer.full_signature

    @property
    def budgets(self) -> Budgets:
        engine = self.scorer.engine
        chosen = engine.device.spec.layouts != (PADDED,)  # where the device has a choice of layouts
        return Budgets(
            batch_tokens=engine.grid.token_budget,
            length_step=engine.grid.step,
            threads=engine.threads,
            exact=self.scorer.exact_bound,
            layout=engine.use.layout if chosen else None,
            attention=engine.use.attention if chosen else None,
        )

    @property
    def provider(self) -> str:
        return self.scorer.engine.provider

    @property
    def origin(self) -> Origin:
        return self.scorer.origin

    @property
    def caveats(self) -> Caveats:
        manifest = self.scorer.engine.bundle.manifest
        return Caveats(manifest.source.random_init, manifest.forced)

    @property
    def versions(self) -> Mapping[str, str]:
        return metric_versions()

    @property
    def computed(self) -> int:
        return self.scorer.engine.computed

    @property
    def seconds(self) -> Mapping[str, float]:
        return self.scorer.pipeline.seconds

    def warnings(self, counts: Counts) -> Sequence[str]:
        """Warn of facts without a template, and of data that the bundle's own templates were not made for."""
        facts = counts.facts
        if not facts.backoff:
            return ()
        bundle = self.scorer.engine.bundle
        own_templates = self.scorer.settings.templates is None and bundle.templates_file is not None
        missing = sum(1 for entry in facts.by_predicate.values() if entry.backoff)
        share = facts.backoff / facts.all
        message = f"warning: {percent(share)} of the facts in the first window have no template (backoff)"
        if own_templates and missing > len(facts.by_predicate) / 2:
            message += (
                f"; {missing} of {len(facts.by_predicate)} predicates are outside what the bundle {bundle.name} was "
                "made for, so its labels may mean nothing here"
            )
        return (message,)

    def report(self, counts: Counts, seconds: float) -> Report:
        device = self.scorer.report
        measured = speed(counts, seconds, self.scorer.engine)
        return Report(measured, self.scorer.exact_bound, device.bound, device.invariance_error)

    def warm_up(self, earlier: Known | None, starts: Starts[TextColumns]) -> MetricRows:
        """With ``exact``, take the bound from an earlier plan of the same model and provider, or measure it."""
        if not self.scorer.engine.exact:
            return self
        bound = None
        if earlier is not None and (earlier.signature, earlier.provider) == (self.signature, self.provider):
            bound = earlier.budgets.exact
        self.scorer.engine.bound = bound or measure_bound(self.scorer, starts)
        return self

    def open_reuse(self, earlier: Sequence[Location]) -> Reuse:
        """See :meth:`.row_scorer.RowScorer.open_reuse`."""
        return Reuse(open_sources(earlier, self.signature, self.scorer.settings.columns, self.origin))

    def stream(
        self, items: Iterable[Window[Tag, InputColumns] | Mark], reuse: Reuse | None, tick: Callable[[Tag, float], None]
    ) -> Generator[ScoredWindow[Tag] | Mark, None, None]:
        return self.scorer.pipeline.stream(items, reuse, tick)


@dataclass(frozen=True)
class MetricScoring:
    """How the metric is set up for a run. ``opener``: opens a scorer of these settings with the budgets given."""

    settings: Settings
    opener: Callable[[Budgets], AbstractContextManager[Scorer]]

    def find_columns(self, schema: pa.Schema) -> InputColumns:
        """See :func:`scorer.metric.inputs.find_columns`. FactSpotter takes triples apart.

        Raises:
            ColumnError: as that function; the facts are sentences, and the protocol is ``factspotter``.
        """
        found = find_columns(schema, self.settings.columns)
        if self.settings.protocol == "factspotter":
            return found.with_triples("the protocol factspotter asks about triples")
        return found

    @contextmanager
    def open(self, budgets: Budgets) -> Iterator[MetricRows]:
        """Open the scorer; it is closed at the end."""
        with self.opener(budgets) as scorer:
            yield MetricRows(scorer)

    def to_plan(self) -> Mapping[str, object]:
        """See :meth:`.Settings.to_plan`."""
        return self.settings.to_plan()


def measure_bound(scorer: Scorer, starts: Starts[TextColumns]) -> ExactBound:
    """The bound of ``--exact`` on pairs from the beginnings of shards, until there are enough of them.

    Args:
        scorer: one with ``exact``.
    """
    bound: ExactBound | None = None
    for i, start in enumerate(starts):
        missing = EXACT_PAIRS - (bound.pairs if bound is not None else 0)
        if missing <= 0:
            break
        share = -(-missing // (len(starts) - i))
        for window in start:
            work = scorer.pipeline.prepare(window.columns.rows(window.table)).work
            bound = scorer.engine.measure_bound(work, share, bound)
    return bound or ExactBound(0, scorer.report.bound)
