"""Drawn rows as annotators see them: the facts in words, and the text."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...errors import ColumnError
from ...metric.inputs import ColumnNames, find_columns, output_schema
from ...metric.templates import Templates
from ...scoring.output_files import guarded, open_parquet
from ...scoring.output_templates import find_templates
from ...scoring.plan import Plan
from ...scoring.signature import Signature
from .estimates import true_rates
from .given import from_files
from .label_file import DesignItem, Item, SampleDesign
from .population import Population, read_population
from .sampling import Needed, Sample, draw_sample, plan_labels

ROWS, LEAST = 200, 10
"""Rows that are drawn by default, and at least."""
SYSTEM = "system"


def templates_of(population: Population) -> Templates | None:
    """The templates that the output was scored with; ``None`` when they are not found unchanged."""
    with open_parquet(population.files[0]) as parquet:
        signature = Signature.of_footer(parquet.schema_arrow.metadata)
    plan = Plan.load(population.path) if population.path.is_dir() else None
    found = find_templates(signature, plan.settings if plan is not None else {})
    return found[0] if found is not None else None


@dataclass(frozen=True)
class Asked:
    """What people are asked. ``second``: those of ``items`` that a second person labels as well. ``needed``: with a
    width, the labels that it takes, of all rows and of each group of ``by``. ``notes``: remarks for people."""

    items: list[Item]
    second: list[Item]
    design: SampleDesign
    by: str | None
    needed: list[Needed]
    notes: list[str]


def ask(
    path: Path,
    name: str,
    *,
    rows: int | None,
    width: float | None,
    pilot: Path | None,
    twice: int | None,
    by: str | None,
    seed: int,
) -> Asked:
    """Draw rows of an output to label.

    Args:
        path: output of a run, or one scored file. name: of it, for people.
        rows: to draw; by default :data:`ROWS`. width: instead, of the interval that they are to give.
        pilot: labels of a first sample.
        twice: rows for a second person, by default a fifth.
        by: column to spread rows over, by default :data:`SYSTEM` if it exists.

    Raises:
        ScorerError: the output or the labels cannot be used.
    """
    population = read_population(path, (by or SYSTEM,), name)
    by = SYSTEM if by is None and population.scored.has(SYSTEM) else by
    notes = []
    if not population.scored.finished:
        notes.append(f"{name} is not finished: the sample covers only the shards that are done")
    first = from_files(population, [pilot]) if pilot is not None else None
    count, needed = rows or ROWS, []
    if width is not None:
        classes = true_rates(population, first)[0].classes if first is not None else ()
        needed = plan_labels(population, width, by, classes)
        count = max(LEAST, needed[0].labels - (len(first.rows) if first is not None else 0))
    templates = templates_of(population)
    if templates is None:
        notes.append("the templates of the run are not found unchanged; facts are written by the backoff template")
    sample = draw_sample(population, count, seed, by, first)
    items = make_items(population, sample, templates or Templates(), seed)
    again = len(items) // 5 if twice is None else min(twice, len(items))
    design = make_design(population, sample, items, again, seed)
    return Asked(items, [item for item in items if design.items[item.item].twice], design, by, needed, notes)


def make_items(population: Population, sample: Sample, templates: Templates, seed: int) -> list[Item]:
    """The drawn rows in the order of the sample, under ids that say nothing of them.

    Raises:
        ColumnError: the run did not keep the facts or the texts.
        InputError: a file cannot be read.
    """
    shown = _contents(population, np.unique(sample.rows), templates)
    keys = population.keys(sample.rows)
    return [
        Item(_opaque(seed, row), *population.places.locate(row), key, *shown[row])
        for row, key in zip(sample.rows.tolist(), keys, strict=True)
    ]


def make_design(population: Population, sample: Sample, items: list[Item], twice: int, seed: int) -> SampleDesign:
    """What ``scorer rate`` needs besides the labels. ``twice``: how many rows a second person labels as well."""
    chosen = np.random.default_rng([seed, 2]).permutation(len(items))[:twice].tolist()
    again = {items[position].item for position in chosen}
    return SampleDesign(
        out=population.name,
        signature=population.scored.signature or "",
        strata=sample.design,
        items={
            one.item: DesignItem(file=one.file, row=one.row, row_key=one.row_key, twice=one.item in again)
            for one in items
        },
    )


def _opaque(seed: int, row: int) -> str:
    return hashlib.blake2b(f"{seed} {row}".encode(), digest_size=5).hexdigest()


def _contents(
    population: Population, rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]], templates: Templates
) -> dict[int, tuple[tuple[str, ...], str]]:
    """By row number, its facts in words and its text; only the row groups that hold the rows are read."""
    found: dict[int, tuple[tuple[str, ...], str]] = {}
    for number, path in enumerate(population.files):
        first = int(population.places.starts[number])
        inside = rows[(rows >= first) & (rows < population.places.starts[number + 1])] - first
        if not len(inside):
            continue
        with open_parquet(path) as parquet:
            names = _inputs(population.columns, parquet.schema_arrow, path)
            start = 0
            for group in range(parquet.num_row_groups):
                count = parquet.metadata.row_group(group).num_rows
                here = inside[(inside >= start) & (inside < start + count)]
                if len(here):
                    table = guarded(path, parquet.read_row_group, group, columns=names).take(pa.array(here - start))
                    for row, content in zip(here.tolist(), _read(table, population.columns, templates), strict=True):
                        found[first + row] = content
                start += count
    return found


def _inputs(columns: ColumnNames, schema: pa.Schema, path: Path) -> list[str]:
    added = {columns.prefix + field.name for field in output_schema(replace(columns, sentences=True, details=True))}
    left = pa.schema([field for field in schema if field.name not in added])
    try:
        return find_columns(left, replace(columns, keep=())).needed
    except ColumnError as e:
        raise ColumnError(
            f"{path} does not hold what people need to judge a row: {e}; score with all columns kept"
        ) from e


def _read(table: pa.Table, columns: ColumnNames, templates: Templates) -> list[tuple[tuple[str, ...], str]]:
    rows = find_columns(table.schema, replace(columns, keep=())).rows(table)
    triples = rows.triples
    contents = []
    for row, (start, end) in enumerate(pairwise(triples.offsets.tolist())):
        chosen = range(start, end) if rows.used is None else [i for i in range(start, end) if rows.used[i]]
        facts = tuple(templates.fill(triples.distinct[triples.ids[i]]).text for i in chosen)
        contents.append((facts, rows.text_of(row) or ""))
    return contents
