"""``scorer templates check``: what a template file lacks for some data: predicates, objects of its maps, slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..metric import ColumnNames
from ..metric.joining import SentenceUse, SentenceUses
from ..metric.slots import written
from ..metric.templates import Key, Templates
from ..storage.input_tables import read_tables
from ..storage.inputs import find_files
from ..system.codec import Record
from ..system.files import Format
from .extract import find_triples


class TemplateUse(Record, frozen=True, kw_only=True):
    """A predicate, or an object of its map, with its number of facts. ``template``, ``slots``: of a template that lacks
    slots, and which ones; ``None`` and empty for one that is missing."""

    predicate: str
    object: str | None
    facts: int
    template: str | None = None
    slots: tuple[str, ...] = ()


class CheckReport(Record, frozen=True, kw_only=True):
    """Findings of ``scorer templates check``. ``rows``, ``errors``: read, and those with an error by kind. ``facts``:
    of all rows, ``backoff``: those without a template. ``missing``: predicates and objects of a per-object map that
    have no template, by falling number of facts. ``unused``: predicates of the file that the data does not have.
    ``in_sentences``: facts that a sentence of the file says; ``sentences``: the use of each."""

    schema: int = 1
    file: str
    sha256: str
    predicates: int
    rows: int
    errors: dict[str, int]
    facts: int
    backoff: int
    missing: list[TemplateUse]
    without_slot: list[TemplateUse]
    unused: list[str]
    in_sentences: int
    sentences: list[SentenceUse]


def review(
    templates: Templates,
    file: str,
    inputs: Sequence[str],
    names: ColumnNames,
    form: Format = "auto",
    delimiter: str | None = None,
) -> CheckReport:
    """Check templates against data. ``file``: their name, for people.

    Raises:
        InputError, ShardError, ColumnError: as a run would.
    """
    rows, errors = 0, Counter[str]()
    missing, used = Counter[Key](), Counter[Key]()
    predicates, uses = set[str](), SentenceUses(templates, templates.optional)

    for found in find_files(list(inputs), form, delimiter):
        for table in read_tables(found, lambda schema: find_triples(schema, names).needed):
            window = find_triples(table.schema, names).rows(table)
            rows += len(window)
            errors.update(window.errors.values())
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
    known = templates.plain.keys() | templates.by_object.keys()
    return CheckReport(
        file=file,
        sha256=templates.sha256,
        predicates=len(known),
        rows=rows,
        errors=dict(errors.most_common()),
        facts=missing.total() + used.total() + uses.facts,
        backoff=missing.total(),
        missing=[TemplateUse(predicate=p, object=value, facts=n) for (p, value), n in missing.most_common()],
        without_slot=[
            TemplateUse(
                predicate=predicate,
                object=value,
                facts=used[predicate, value],
                template=written(
                    templates.plain[predicate] if value is None else templates.by_object[predicate][value]
                ),
                slots=slots,
            )
            for (predicate, value), slots in templates.without_slot().items()
        ],
        unused=sorted(known - predicates),
        in_sentences=uses.facts,
        sentences=uses.report(),
    )
