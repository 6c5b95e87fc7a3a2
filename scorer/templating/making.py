"""``scorer templates extract``: from references to candidates to a template file, and a second file with all
candidates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError, OutputError, UsageError
from ..metric.inputs import ColumnNames
from ..metric.templates import Templates
from ..scoring.pipeline import Model
from ..storage.user_files import check_user_file, write_user_file
from ..system.formats import TEMPLATES_SCHEMA as SCHEMA
from .agreement import REFERENCES, score_candidates
from .choosing import at_random, best_score, candidates_file, template_file
from .document import CandidateLine, ExtractionReport, TemplateContent
from .extract import extract
from .references import read_references


def check_output(out: Path, inputs: Sequence[str], force: bool) -> Path:
    """The path of the file of candidates that belongs to ``out``, after checking that both can be written.

    Raises:
        UsageError: ``out`` is not the name of a JSON file.
        OutputError: one of the files exists, is an input, or is a folder.
    """
    if out.suffix != ".json":
        raise UsageError(f"--out {out} is not the name of a JSON file; write F.json")
    candidates = out.with_suffix(".candidates.json")
    for path in (out, candidates):
        check_user_file(path, "--out", inputs=inputs)
        if path.exists() and not force:
            raise OutputError(f"--out: {path} exists; choose another name, or replace it with --force")
    return candidates


def make_templates(
    inputs: Sequence[str],
    out: Path,
    names: ColumnNames,
    *,
    seed: int = 0,
    model: Model | None = None,
    references: int = REFERENCES,
    force: bool = False,
) -> ExtractionReport:
    """Extract, choose and write; the JSON of ``scorer templates extract``.

    Args:
        model: chooses the candidate that agrees best with other references (``nli``); without one, the choice is
            ``random`` by ``seed``.
        references: largest number of references that ``nli`` compares a candidate with.

    Raises:
        ScorerError: no reference gave a template, an input cannot be read, or a file cannot be written.
    """
    candidates = check_output(out, inputs, force)
    found = extract(read_references(inputs, names))
    if not found.candidates:
        reasons = ", ".join(f"{n} {reason}" for reason, n in found.report["references"]["rejected"].items())
        raise InputError(
            f"no template could be made from {found.report['references']['all']} references "
            f"({reasons or 'none read'}); each reference must contain the subject and the object of its one triple"
        )
    pairs = score_candidates(found, model, references=references, seed=seed) if model is not None else 0
    content = template_file(found.candidates, best_score if model is not None else at_random(seed))
    Templates.from_dict(content, str(out))  # the scorer must be able to read what is written here
    _write(candidates, candidates_file(found.candidates, content))
    _write(out, content)
    return {
        "schema": SCHEMA,
        "out": str(out),
        "candidates_file": str(candidates),
        "choose": "nli" if model is not None else "random",
        "seed": seed,
        "pairs": pairs,
        **found.report,
    }


def _write(path: Path, content: TemplateContent | dict[str, list[CandidateLine]]) -> None:
    write_user_file(path, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode(), "--out")
