"""``scorer templates extract``: from references of single triples to candidates, and from these to a template file."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError
from ..metric import ColumnNames
from ..metric.fact_templates import Key, Templates
from ..metric.facts import Triple
from ..metric.inputs import InputColumns, find_columns
from ..metric.verdict import ENTAILMENT
from ..scoring.pipeline import Model
from ..status import SCORED
from ..storage.input_files import find_files
from ..storage.input_tables import read_tables
from ..storage.user_files import write_user_file
from ..system.codec import Record
from . import ExtractOptions
from .matching import delexicalise, is_boolean

Reference = tuple[Triple, str]

_PAIRS = 32768


@dataclass
class Candidate:
    """A template that references give."""

    template: str
    count: int = 0
    """Occurrences of its references."""
    sources: list[Reference] = field(default_factory=list)
    """The distinct references that give it."""
    score: float | None = None
    """Mean P(entailment), of the choice ``nli`` only."""


class ExtractionReport(Record, frozen=True, kw_only=True):
    """Counts of an extraction."""

    schema: int = 1
    out: str
    """Path of the template file."""
    candidates_file: str
    """Path of the file of all candidates."""
    choose: str
    """Choice among the candidates of a predicate."""
    seed: int
    """Seed of random choices."""
    pairs: int
    """Pairs of texts that the model compared."""
    references: int
    """References read."""
    used: int
    """References that gave a template."""
    rejected: dict[str, int]
    """References that gave none, by reason."""
    predicates: int
    """Predicates of the references."""
    missing: list[str]
    """Predicates without a template."""
    candidates: int
    """Distinct templates of all predicates."""


def make_templates(
    inputs: Sequence[str], out: Path, options: ExtractOptions, model: Model | None = None
) -> ExtractionReport:
    """Extract candidates, choose one for each predicate, and write both files. ``model``: of the choice ``nli``.

    Raises:
        ScorerError: no reference gave a template, an input cannot be read, or a file cannot be written.
    """
    rejected: Counter[str] = Counter()
    references = read_references(inputs, options.columns, rejected)
    candidates = find_candidates(references, rejected)
    used = sum(candidate.count for of_predicate in candidates.values() for candidate in of_predicate)
    total = used + rejected.total()
    if not candidates:
        reasons = ", ".join(f"{n} {reason}" for reason, n in rejected.most_common())
        raise InputError(
            f"no template could be made from {total} references ({reasons or 'none read'}); each reference must "
            "contain the subject and the object of its one triple"
        )
    pairs = 0
    if options.choose == "nli" and model is not None:
        pairs = score_candidates(candidates, model, options.references, options.seed)
    choices = {key: _choose(key, of_predicate, options) for key, of_predicate in candidates.items()}
    content = template_file({key: candidate.template for key, candidate in choices.items()})
    Templates.from_dict(content, str(out))  # the scorer must be able to read what is written here
    path = candidates_path(out)
    for file, value in ((path, _listed(candidates, choices)), (out, content)):
        write_user_file(file, (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode(), "--out")
    predicates = {triple.predicate for triple, _ in references}
    return ExtractionReport(
        out=str(out),
        candidates_file=str(path),
        choose=options.choose,
        seed=options.seed,
        pairs=pairs,
        references=total,
        used=used,
        rejected=dict(rejected.most_common()),
        predicates=len(predicates),
        missing=sorted(predicates - {predicate for predicate, _ in candidates}),
        candidates=sum(map(len, candidates.values())),
    )


def candidates_path(out: Path) -> Path:
    """The file of all candidates that belongs to a template file."""
    return out.with_suffix(".candidates.json")


def find_triples(schema: pa.Schema, names: ColumnNames) -> InputColumns:
    """The columns of triples and texts; none is passed through.

    Raises:
        ColumnError: a column is missing, of a type that cannot be read, or has sentences.
    """
    inputs = replace(names, keep=(), prefix="", details=False, sentences=False)
    return find_columns(schema, inputs, "templates are for triples")


def read_references(inputs: Sequence[str], names: ColumnNames, rejected: Counter[str]) -> dict[Reference, int]:
    """Occurrences of each distinct (triple, sentence) of the inputs, in the order of the data.

    The text column holds strings, or lists of strings. Rows that are not a sentence with one triple are counted by
    reason in ``rejected``.

    Raises:
        InputError, ShardError: nothing to read, or a shard that cannot be read. ColumnError: a column is missing, or of
            a type that cannot be read.
    """
    counts: dict[Reference, int] = {}

    def needed(schema: pa.Schema) -> list[str]:
        return find_triples(_one_text_a_row(schema.empty_table(), names.text).schema, names).needed

    for file in find_files(inputs):
        for table in read_tables(file, needed):
            _add(counts, _one_text_a_row(table, names.text), names, rejected)
    return counts


def _one_text_a_row(table: pa.Table, name: str) -> pa.Table:
    """A row with a list of texts becomes one row per text; an empty or null list gives none."""
    position = table.schema.get_field_index(name)
    kind = table.schema.field(position).type if position >= 0 else None
    if kind is None or not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return table
    column = table.column(position).combine_chunks()
    return table.take(pc.list_parent_indices(column)).set_column(position, name, pc.list_flatten(column))


def _add(counts: dict[Reference, int], table: pa.Table, names: ColumnNames, rejected: Counter[str]) -> None:
    rows = find_triples(table.schema, names).rows(table)
    rejected.update(error.kind for error in rows.errors.values())
    ids, offsets = rows.triples.ids.tolist(), rows.triples.offsets.tolist()
    for row, code in enumerate(rows.text_codes.tolist()):
        if row in rows.errors:
            continue
        text, (first, *further) = rows.texts[code] or "", ids[offsets[row] : offsets[row + 1]]
        if further or not text.strip():
            rejected["several_triples" if further else "blank_text"] += 1
        else:
            reference = rows.triples.distinct[first], text
            counts[reference] = counts.get(reference, 0) + 1


def find_candidates(references: dict[Reference, int], rejected: Counter[str]) -> dict[Key, list[Candidate]]:
    """The candidates of each predicate, in the order of the data; others are counted by reason in ``rejected``."""
    by_key: dict[Key, dict[str, Candidate]] = {}
    for (triple, text), count in references.items():
        template, reason = delexicalise(triple, text)
        if triple.predicate.startswith("$"):  # keys like "$aliases" are settings of a template file
            template, reason = None, "reserved_predicate"
        if template is None:
            rejected[reason or ""] += count
            continue
        candidate = by_key.setdefault(_key_of(triple), {}).setdefault(template, Candidate(template))
        candidate.count += count
        candidate.sources.append((triple, text))
    return {key: list(by_template.values()) for key, by_template in by_key.items()}


def _key_of(triple: Triple) -> Key:
    """The predicate, and for a yes-or-no object also the object in the spelling of the template file."""
    boolean = triple.object.strip("\"'") if is_boolean(triple.object) else None
    return triple.predicate, boolean


def _choose(key: Key, candidates: list[Candidate], options: ExtractOptions) -> Candidate:
    if options.choose == "random":  # the draw depends on the seed and the predicate alone
        return random.Random(f"{options.seed}|{key[0]}|{key[1]}").choice(candidates)
    return max(
        candidates, key=lambda candidate: (-1.0 if candidate.score is None else candidate.score, candidate.count)
    )


def score_candidates(candidates: dict[Key, list[Candidate]], model: Model, limit: int, seed: int) -> int:
    """Score every candidate by its agreement with other references; returns the number of pairs compared.

    A candidate is filled with the triple of a reference that it was not taken from, and both directions are scored. A
    template that says too much is not entailed by other references; one that says too little does not entail them. The
    score is the mean P(entailment), over pairs that are not too long for the model.

    Args:
        limit: number of references that a candidate is compared with. They are the sources of other candidates of the
            predicate, in random order, with references of other triples first.
        seed: seed of this order.
    """
    pairs = _pairs(candidates, limit, seed)
    scores: dict[int, list[float]] = {}
    compared = 0
    while batch := list(islice(pairs, _PAIRS)):
        compared += len(batch)
        for (candidate, _, _), entailment in zip(batch, _entailment(batch, model), strict=True):
            if entailment is not None:
                scores.setdefault(id(candidate), []).append(entailment)
    for candidate in chain.from_iterable(candidates.values()):
        if values := scores.get(id(candidate)):
            candidate.score = sum(values) / len(values)
    return compared


def _pairs(candidates: dict[Key, list[Candidate]], limit: int, seed: int) -> Iterator[tuple[Candidate, str, str]]:
    """Candidate, premise and hypothesis of every pair to compare."""
    for key, of_predicate in candidates.items():
        order = [reference for candidate in of_predicate for reference in candidate.sources]
        random.Random(f"{seed}|{key[0]}|{key[1]}").shuffle(order)
        for candidate in of_predicate:
            sources, triples = set(candidate.sources), {triple for triple, _ in candidate.sources}
            other_sources = [reference for reference in order if reference not in sources]
            templates = Templates.from_dict({key[0]: candidate.template})
            for triple, text in sorted(other_sources, key=lambda reference: reference[0] in triples)[:limit]:
                filled = templates.fill(triple).text
                yield candidate, filled, text
                yield candidate, text, filled


def _entailment(pairs: list[tuple[Candidate, str, str]], model: Model) -> list[float | None]:
    """P(entailment) of each pair, ``None`` if the model gave no result; each distinct text is tokenised once."""
    texts = list(dict.fromkeys(text for _, premise, hypothesis in pairs for text in (premise, hypothesis)))
    ids = {text: i for i, text in enumerate(texts)}
    premises = np.array([ids[premise] for _, premise, _ in pairs], np.int32)
    hypotheses = np.array([ids[hypothesis] for _, _, hypothesis in pairs], np.int32)
    predictions = model.predict(model.encode(texts, premises, hypotheses))
    scored = (predictions.status == SCORED).tolist()
    values = predictions.probabilities[:, ENTAILMENT].tolist()
    return [value if has_result else None for value, has_result in zip(values, scored, strict=True)]


def template_file(templates: dict[Key, str]) -> dict[str, Any]:
    """The content of a template file: predicate → template, or → object → template."""
    content: dict[str, Any] = {"$version": 1}
    for (predicate, value), template in sorted(templates.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        if value is None:
            content[predicate] = template
        elif not isinstance(content.get(predicate), str):  # one with both names and yes or no has names
            content.setdefault(predicate, {})[value] = template
    return content


def _listed(candidates: dict[Key, list[Candidate]], choices: dict[Key, Candidate]) -> dict[str, list[dict[str, Any]]]:
    """All candidates with their counts, the most frequent first; the chosen ones are marked."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for key, of_key in candidates.items():
        for candidate in sorted(of_key, key=lambda candidate: -candidate.count):
            line = {"template": candidate.template, "count": candidate.count, "object": key[1]}
            line["score"] = None if candidate.score is None else round(candidate.score, 6)
            line["chosen"] = True if candidate is choices[key] else None
            lines.setdefault(key[0], []).append({name: value for name, value in line.items() if value is not None})
    return lines
