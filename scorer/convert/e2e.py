"""Files of the E2E challenge and of later evaluations of it.

System outputs (TSV, header ``MR output``), the data set and its cleaned version (CSV, ``mr,ref``, ``fixed``,
``orig_mr``), and files of texts that belong to a file of meaning representations. Dušek et al. 2018, 2019.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import UsageError
from ..metric.formats import parse_mr
from . import ConvertOptions
from .rows import ConvertedRows, Input, Text
from .sheets import Form, read_sheet
from .source_files import Problems, parse_source, parse_systems

COUNTS = ("added", "missing", "valerr")
"""Columns of the slot script."""


def convert_e2e(
    inputs: Sequence[str], options: ConvertOptions, problems: Problems, *, references: str | None = None
) -> ConvertedRows:
    """Rows from E2E files, each given as ``FILE`` or ``NAME=FILE``.

    Columns ``added``, ``missing`` and ``valerr`` (of the slot script) also give ``gold_fine``, see :func:`slot_label`;
    with ``diff``, also ``gold_fine_ignore_restaurant``, see :func:`slot_label_without_restaurant`.

    Args:
        inputs: files of a system each, with inputs and outputs; with ``options.texts`` one file of inputs. That may be
            a reference file with one line per reference: a text file then has as many lines as this file has lines or
            distinct inputs.
        options: its ``texts`` are files with one output per line.
        references: a file of inputs and references; the references become a column.

    Raises:
        ScorerError: a file that cannot be read or used; with ``strict``, the first malformed line.
    """
    form = Form(parse_mr, options, is_e2e=True)
    rows = ConvertedRows()
    with_references = read_sheet(parse_source(references), form, problems) if references is not None else []
    if options.texts:
        if len(inputs) != 1:
            raise UsageError(f"--texts needs exactly one file of inputs, but {len(inputs)} were given")
        source = parse_source(inputs[0])
        entries = read_sheet(source, form, problems, needs_text=False)
        _add_references(entries, with_references or [entry for entry in entries if entry.texts], rows)
        distinct = list({entry.key: entry for entry in reversed(entries)}.values())[::-1]
        rows.add_text_files([entries, distinct], source.shown, options, problems)
    else:
        sheets = {source.name: read_sheet(source, form, problems) for source in parse_systems(inputs)}
        all_entries = [entry for entries in sheets.values() for entry in entries]
        _add_references(all_entries, with_references, rows)
        for name, entries in sheets.items():
            rows.add_own_texts(entries, name)
        rows.inputs = len({entry.key for entry in all_entries})
    rows.derive("gold_fine", COUNTS, slot_label)
    rows.derive("gold_fine_ignore_restaurant", (*COUNTS, "diff"), slot_label_without_restaurant)
    return rows


def slot_label(added: str, missing: str, wrong: str) -> str | None:
    """The FINE label of a text from the counts of the slot script, as the code of Dušek & Kasner (2020) reads them.

    A slot with a wrong value is an omission and a hallucination; repetitions count for nothing.
    """
    try:
        extra, omitted, wrong_values = (int(float(count)) for count in (added, missing, wrong))
    except (ValueError, OverflowError):
        return None
    if wrong_values or (extra and omitted):
        return "omission+hallucination"
    return "hallucination" if extra else "omission" if omitted else "OK"


def slot_label_without_restaurant(added: str, missing: str, wrong: str, diff: str) -> str | None:
    """The label where ``eatType=restaurant`` is optional, as with ``--e2e-ignore-restaurant`` of the authors' code.

    A count is one less where ``diff`` (slot → value → count, negative for a missing value) has the value, even if the
    count is 0 and becomes -1, which is then an error."""
    try:
        slots = json.loads(diff)
        times = slots.get("eat_type", slots.get("eatType", {})).get("restaurant", 0)
        return slot_label(str(float(added) - (times > 0)), str(float(missing) - (times < 0)), wrong)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None


def _add_references(inputs: Sequence[Input], with_references: Sequence[Input], rows: ConvertedRows) -> None:
    """Look up the references of inputs among the texts of others; those without any are noted."""
    by_key: dict[object, list[Text]] = {}
    for entry in with_references:
        by_key.setdefault(entry.key, []).extend(entry.texts)
    if with_references:
        for entry in inputs:
            entry.references = by_key.get(entry.key, [])
        rows.unreferenced = {entry.key for entry in inputs} - by_key.keys()
