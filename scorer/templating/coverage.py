"""``scorer templates check``: gaps of a template file for some data: missing predicates, objects of its maps, slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..metric import ColumnNames
from ..metric.fact_templates import Key, Templates
from ..metric.facts import Rows
from ..metric.joining import SentenceUse, SentenceUses
from ..metric.slots import to_text
from ..storage.input_files import find_files
from ..storage.input_tables import read_tables
from ..system.codec import Record
from ..system.files import Format
from .extract import find_triples


class TemplateUse(Record, frozen=True, kw_only=True):
    """A predicate, or an object of its map, with its number of facts."""

    predicate: str
    object: str | None
    """The object; ``None`` for a predicate without a map."""
    facts: int
    """Number of facts."""
    template: str | None = None
    """The template, if it lacks slots; ``None`` if there is no template."""
    slots: tuple[str, ...] = ()
    """The slots that it lacks."""


class CheckReport(Record, frozen=True, kw_only=True):
    """Findings of ``scorer templates check``."""

    schema: int = 1
    file: str
    """Name of the template file."""
    sha256: str
    """Digest of the templates."""
    predicates: int
    """Predicates with a template."""
    rows: int
    """Rows read."""
    errors: dict[str, int]
    """Rows with an error, by kind."""
    facts: int
    """Facts of all rows."""
    backoff: int
    """Facts without a template."""
    missing: list[TemplateUse]
    """Predicates, and objects of a per-object map, without a template, by falling number of facts."""
    without_slot: list[TemplateUse]
    """Templates that lack a slot; without that of the subject only where a row has several subjects."""
    unused: list[str]
    """Predicates of the file that the data does not have."""
    in_sentences: int
    """Facts that a sentence of the file says."""
    sentences: list[SentenceUse]
    """The use of each sentence of the file."""


def review(
    templates: Templates,
    file: str,
    inputs: Sequence[str],
    names: ColumnNames,
    form: Format = "auto",
    delimiter: str | None = None,
) -> CheckReport:
    """Check templates against data. ``file``: their name for messages.

    Raises:
        InputError, ShardError, ColumnError: as a run would.
    """
    rows, errors = 0, Counter[str]()
    several_subjects = False
    missing, used = Counter[Key](), Counter[Key]()
    predicates, uses = set[str](), SentenceUses(templates, templates.optional)

    for input_file in find_files(list(inputs), form, delimiter):
        for table in read_tables(input_file, lambda schema: find_triples(schema, names).needed):
            window = find_triples(table.schema, names).rows(table)
            rows += len(window)
            errors.update(error.kind for error in window.errors.values())
            several_subjects |= _has_several_subjects(window)
            predicates |= {templates.canonical(triple.predicate) for triple in window.triples.distinct}
            facts = uses.join(window).triples
            counts = np.bincount(facts.ids, minlength=len(facts.distinct)).tolist()
            for triple, count in zip(facts.distinct, counts, strict=True):
                if triple.sentence is not None:
                    continue
                template = templates.lookup(triple)
                if template.backoff:
                    name = triple.predicate if template.object is None else template.predicate
                    missing[name, template.object] += count
                else:
                    used[template.predicate, template.object] += count
    templated = templates.plain.keys() | templates.by_object.keys()
    return CheckReport(
        file=file,
        sha256=templates.sha256,
        predicates=len(templated),
        rows=rows,
        errors=dict(errors.most_common()),
        facts=missing.total() + used.total() + uses.facts,
        backoff=missing.total(),
        missing=[TemplateUse(predicate=p, object=value, facts=n) for (p, value), n in missing.most_common()],
        without_slot=_without_slot(templates, used, several_subjects),
        unused=sorted(templated - predicates),
        in_sentences=uses.facts,
        sentences=uses.report(),
    )


def _has_several_subjects(window: Rows) -> bool:
    """Whether the facts of a row are about several subjects."""
    facts = window.triples
    codes: dict[str, int] = {}
    subject = np.array([codes.setdefault(triple.subject, len(codes)) for triple in facts.distinct], np.int64)
    of_facts, starts = subject[facts.ids], facts.offsets[:-1][np.diff(facts.offsets) > 0]
    if not len(starts):
        return False
    return bool((np.minimum.reduceat(of_facts, starts) != np.maximum.reduceat(of_facts, starts)).any())


def _without_slot(templates: Templates, used: Counter[Key], several_subjects: bool) -> list[TemplateUse]:
    """Templates that lack a slot; one that lacks only the subject is right where each row has one."""
    return [
        TemplateUse(
            predicate=predicate,
            object=value,
            facts=used[predicate, value],
            template=to_text(templates.plain[predicate] if value is None else templates.by_object[predicate][value]),
            slots=slots,
        )
        for (predicate, value), slots in templates.without_slot().items()
        if several_subjects or slots != ("subject",)
    ]
