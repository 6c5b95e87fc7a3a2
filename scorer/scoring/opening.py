"""Settings put to work: bundle, templates, options, engine and signature, and the pipeline of every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from ..errors import UsageError
from ..inference.bundle import NLI, Bundle
from ..inference.engine import EXACT_PAIRS, EncodedPairs, margin_of
from ..inference.session import open_bundle
from ..inference.verification import open_engine
from ..metric import Options, factspotter
from ..metric.fact_templates import Templates, parse_optional
from ..metric.languages import LanguageSide
from ..metric.sentences import SentenceSide, split_text, splitter_name
from ..storage.run_plan import Budgets
from ..system.bounds import ExactBound
from ..system.processors import thread_count
from .pipeline import Pipeline
from .settings import Settings
from .summary import ComputeDevice, ComputeEnvironment, signature_of

Log = Callable[[str], None]


class OpenScorer:
    """The open model of ``settings``, and what is around it: what a run scores with.

    Args:
        budgets: of an earlier run; what is ``None`` there is chosen or measured.
        log: called with each remark for people.
        bundle: of the settings, where it is open.

    Attributes:
        engine: what computes. pipeline: what happens to every row. full_signature: what the scores depend on.
    """

    def __init__(self, settings: Settings, budgets: Budgets | None, log: Log, bundle: Bundle | None = None) -> None:
        bundle = bundle or open_bundle(settings.bundle, settings.device, settings.precision)
        budgets, truncate = budgets or Budgets(), settings.overlong == "truncate"
        _check_protocol(settings, bundle)
        templates, options = load_metric(settings, log, bundle)
        self.settings = settings
        self.engine = engine = open_engine(
            bundle,
            device=settings.device,
            precision=settings.precision,
            attention=budgets.attention,
            device_memory=settings.device_memory,
            token_budget=budgets.batch_tokens,
            threads=budgets.threads or settings.threads,
            exact=settings.exact,
            bound=budgets.exact,
            truncate=truncate,
            one_string=settings.protocol == "nlgi_eval",
            warn=log,
        )
        side = None
        if settings.sentences:
            premise, hypothesis = (partial(engine.lengths, hypothesis=is_second) for is_second in (False, True))
            side = SentenceSide(split_text, engine.room, premise, hypothesis, truncate)
        contradiction = bundle.contradiction
        if contradiction is None and options.sides != "hallucination":
            log(_why_none_contradicted(bundle))
        threshold = None if contradiction is None else contradiction.threshold
        languages = LanguageSide(bundle.languages, log) if bundle.languages else None
        self.pipeline = Pipeline(engine, templates, options, settings.columns, side, threshold, languages)
        self.full_signature = signature_of(engine, templates, options, truncate=truncate)

    @property
    def budgets(self) -> Budgets:
        """Budgets that it cuts its work by, for a later scorer that shall compute the same bits."""
        engine = self.engine
        chosen = len(engine.device.spec.layouts) > 1  # where the device has a choice of layouts
        return Budgets(
            batch_tokens=engine.grid.token_budget,
            length_step=engine.grid.step,
            threads=engine.threads,
            exact=engine.bound,
            layout=engine.use.layout if chosen else None,
            attention=engine.use.attention if chosen else None,
        )

    @property
    def note_of_threads(self) -> str:
        """A note that the threads of its budgets are kept; empty where it would have as many without them."""
        kept, wanted = self.engine.threads, self.settings.threads or thread_count()
        if kept == wanted or not self.engine.device.spec.is_host:
            return ""
        return (
            f"note: the plan's number of threads a worker, {kept}, is kept, so that all labels are computed alike; "
            f"a new --out would have {wanted}"
        )

    @property
    def origin(self) -> ComputeEnvironment:
        """Where this scorer computes, and how far its numbers stray there."""
        engine, exact = self.engine, self.engine.bound
        assert engine.report is not None
        return ComputeEnvironment(
            device=ComputeDevice(engine.device.kind, engine.device.hardware.name, engine.threads),
            runtime=engine.runtime,
            bound=engine.report.bound if exact is None else max(engine.report.bound, exact.largest),
            invariance_error=engine.report.invariance_error,
            exact=None if exact is None else margin_of(exact),
        )

    def measure_bound(self, sources: Sequence[Iterable[EncodedPairs]]) -> None:
        """Measure the bound of ``exact`` on windows of several inputs, instead of on the first window: each gives its
        share, until there are enough pairs. Without a window it is that of the bundle's probes."""
        engine, bound = self.engine, None
        for number, windows in enumerate(sources):
            missing = EXACT_PAIRS - (bound.pairs if bound is not None else 0)
            if missing <= 0:
                break
            share = -(-missing // (len(sources) - number))
            for work in windows:
                bound = engine.measure_bound(work, share, bound)
        assert engine.report is not None
        engine.bound = bound or ExactBound(0, engine.report.bound)


def load_metric(settings: Settings, log: Log, bundle: Bundle | None = None) -> tuple[Templates, Options]:
    """Templates and options of settings; no model is opened. ``bundle``: that of the settings, where it is open."""
    templates = Templates()
    if settings.protocol != "factspotter":
        of_bundle, given = (bundle or Bundle.load(settings.bundle)).templates_file, settings.templates
        if isinstance(given, Mapping):
            templates = Templates.from_dict(given, warn=log)
        elif (file := of_bundle if given is None else given) is not None:
            templates = Templates.load(file, log)
    options = Options(
        settings.protocol,
        settings.checks,
        parse_optional(settings.optional) | templates.optional,
        settings.missing_template,
        splitter_name() if settings.sentences else None,
        settings.reading,
        settings.worst_sentence,
    )
    return templates, options


def _why_none_contradicted(bundle: Bundle) -> str:
    """A line on why the column ``contradicted`` is null with a bundle, and how to change that."""
    if bundle.scheme.kind != NLI:
        return f"note: the column contradicted is null: the model of {bundle.name} has no class of contradictions"
    return (
        f"note: the column contradicted is null: the bundle {bundle.name} has no threshold for it; `scorer export` of "
        "its checkpoint measures one, where wrong values can be told from facts left out"
    )


def _check_protocol(settings: Settings, bundle: Bundle) -> None:
    """Refuse a bundle that was trained for other questions than the protocol asks: FactSpotter, or the others."""
    one_text, spots_facts = bundle.layout.one_text, settings.protocol == "factspotter"
    if spots_facts:
        factspotter.transliteration()
    if one_text != spots_facts:
        reads, way = (
            ("a triple and a text in one string", "score with --protocol factspotter")
            if one_text
            else ("pairs of texts", "give a bundle that `scorer export --task factspotter` made")
        )
        raise UsageError(f"the bundle {bundle.name} reads {reads}, unlike --protocol {settings.protocol}; {way}")
