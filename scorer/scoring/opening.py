"""From settings to an open scorer: bundle, templates, options, engine, signature and pipeline."""

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
    """The open model of ``settings`` with its pipeline and signature; a run scores with it.

    Args:
        budgets: budgets of an earlier run; those that are ``None`` are chosen or measured.
        log: called with each remark for the user.
        bundle: the bundle of the settings, if it is open.

    Attributes:
        engine: the model on its device.
        pipeline: the stages from rows to labels.
        full_signature: the signature of the scores.
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
        """Sizes of calls and thread count, for a later scorer that must compute the same bits."""
        engine = self.engine
        has_choice = len(engine.device.spec.layouts) > 1  # of layouts, on this device
        return Budgets(
            batch_tokens=engine.grid.token_budget,
            length_step=engine.grid.step,
            threads=engine.threads,
            exact=engine.bound,
            layout=engine.use.layout if has_choice else None,
            attention=engine.use.attention if has_choice else None,
        )

    @property
    def note_of_threads(self) -> str:
        """A note that the number of threads of the plan is used; empty where the settings give the same number."""
        planned, requested = self.engine.threads, self.settings.threads or thread_count()
        if planned == requested or not self.engine.device.spec.is_host:
            return ""
        return (
            f"note: the plan's number of threads a worker, {planned}, is kept, so that all labels are computed alike; "
            f"a new --out would have {requested}"
        )

    @property
    def origin(self) -> ComputeEnvironment:
        """The device of this scorer, and the largest measured differences of its logits there."""
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
        """Measure the bound of ``exact`` on windows of several inputs instead of on the first window.

        Each input contributes an equal share until there are enough pairs. Without a window the bound is that of the
        bundle's probes.
        """
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
    """Templates and options of settings; no model is opened. ``bundle``: the bundle of the settings, if it is open."""
    templates = Templates()
    if settings.protocol != "factspotter":
        bundle_file = (bundle or Bundle.load(settings.bundle)).templates_file
        if isinstance(settings.templates, Mapping):
            templates = Templates.from_dict(settings.templates, warn=log)
        elif (file := bundle_file if settings.templates is None else settings.templates) is not None:
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
    """A note for the user: why the column ``contradicted`` is null with a bundle, and how to change that."""
    if bundle.scheme.kind != NLI:
        return f"note: the column contradicted is null: the model of {bundle.name} has no class of contradictions"
    return (
        f"note: the column contradicted is null: the bundle {bundle.name} has no threshold for it; `scorer export` of "
        "its checkpoint measures one, where wrong values can be told from facts left out"
    )


def _check_protocol(settings: Settings, bundle: Bundle) -> None:
    """Refuse a bundle of another kind than the protocol needs: a model of FactSpotter, or a model of text pairs."""
    one_text, spots_facts = bundle.layout.one_text, settings.protocol == "factspotter"
    if spots_facts:
        factspotter.transliteration()
    if one_text != spots_facts:
        reads, advice = (
            ("a triple and a text in one string", "score with --protocol factspotter")
            if one_text
            else ("pairs of texts", "give a bundle that `scorer export --task factspotter` made")
        )
        raise UsageError(f"the bundle {bundle.name} reads {reads}, unlike --protocol {settings.protocol}; {advice}")
