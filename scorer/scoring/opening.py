"""How a scorer is opened from its settings: bundle, templates, options, engine and signature, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from ..errors import UsageError
from ..inference.bundle import Bundle
from ..inference.engine import EXACT_PAIRS, Engine, ExactBound
from ..inference.tokenizer import PairFormat
from ..inference.verification import open_engine
from ..metric import Options, factspotter
from ..metric.facts import Rows
from ..metric.sentences import SentenceSide, split_text, splitter_name
from ..metric.templates import Templates, parse_optional
from ..storage.plan import Budgets
from ..storage.receipts import Signature
from .pipeline import Pipeline
from .settings import Settings
from .signature import signature

Log = Callable[[str], None]


def open_pipeline(settings: Settings, budgets: Budgets, log: Log) -> tuple[Engine, Pipeline, Signature]:
    """Open the model, and what is around it.

    Args:
        budgets: of an earlier run; what is ``None`` there is chosen or measured.
        log: is told what a user should know.

    Raises:
        ScorerError: the bundle, the templates or the device cannot be used.
    """
    bundle, truncate = Bundle.load(settings.bundle), settings.overlong == "truncate"
    _check_protocol(settings, bundle)
    templates, options = load_metric(settings, log, bundle)
    engine = open_engine(
        bundle,
        device=settings.device,
        precision=settings.precision,
        layout=budgets.layout or "auto",
        attention=budgets.attention,
        device_memory=settings.device_memory,
        token_budget=budgets.batch_tokens,
        threads=budgets.threads,
        exact=settings.exact,
        bound=None if budgets.exact is None else ExactBound(budgets.exact.pairs, budgets.exact.largest),
        truncate=truncate,
        pair_format=PairFormat.ONE_STRING if settings.protocol == "nlgi_eval" else PairFormat.SEPARATE,
        warn=log,
    )
    side = None
    if settings.sentences:
        premise, hypothesis = (partial(engine.lengths, hypothesis=is_second) for is_second in (False, True))
        side = SentenceSide(split_text, engine.room, premise, hypothesis, truncate)
    pipeline = Pipeline(engine, templates, options, settings.columns, side)
    return engine, pipeline, signature(engine, templates, options, truncate=truncate)


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
    )
    return templates, options


def measure_bound(engine: Engine, pipeline: Pipeline, sources: Sequence[Iterable[Rows]]) -> ExactBound:
    """The bound of ``exact`` on windows of several inputs, of which each gives its share, until there are enough pairs.

    Without one, that of the bundle's probes.
    """
    bound = None
    for number, windows in enumerate(sources):
        missing = EXACT_PAIRS - (bound.pairs if bound is not None else 0)
        if missing <= 0:
            break
        share = -(-missing // (len(sources) - number))
        for rows in windows:
            bound = engine.measure_bound(pipeline.prepare(rows).work, share, bound)
    assert engine.report is not None
    return bound or ExactBound(0, engine.report.bound)


def _check_protocol(settings: Settings, bundle: Bundle) -> None:
    """Refuse a bundle that was trained for other questions than the protocol asks.

    Raises:
        UsageError: either is FactSpotter, and the other is not.
        MissingDependencyError: what the protocol needs is not installed.
    """
    one_text = bundle.layout.one_text
    if settings.protocol == "factspotter":
        factspotter.require()
        if not one_text:
            raise UsageError(
                f"the bundle {bundle.name} reads pairs of texts, and --protocol factspotter asks for a triple and a "
                "text in one string; give a bundle that `scorer export --task factspotter` made"
            )
    elif one_text:
        raise UsageError(
            f"the bundle {bundle.name} reads a triple and a text in one string, which --protocol {settings.protocol} "
            "does not ask; score with --protocol factspotter"
        )
