"""Files of the E2E challenge and of later evaluations of it.

System outputs (TSV, header ``MR output``), the data set and its cleaned version (CSV, ``mr,ref``, ``fixed``,
``orig_mr``), and files of texts that belong to a file of meaning representations. Dušek et al. 2018, 2019.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import UsageError
from ..metric.facts import Triple
from ..metric.formats import parse_mr
from . import ConvertOptions
from .files import Problems, parse_source, parse_systems
from .rows import Input, References, Rows, Text, no_references
from .sheets import Form, read_sheet

_POUND = re.compile(r"Ł(?=[0-9])")


def convert_e2e(
    inputs: Sequence[str], options: ConvertOptions, problems: Problems, *, references: str | None = None
) -> Rows:
    """Rows from E2E files, each given as ``FILE`` or ``NAME=FILE``.

    Columns ``added``, ``missing`` and ``valerr`` (of the slot script) also give ``gold_fine``, see :func:`slot_label`.
    Without ``texts``, each of ``inputs`` is a system's file with inputs and outputs. With ``texts``, there is one file
    of inputs, and ``texts`` are files with one output per line. The file of inputs may be a reference file with one
    line per reference: a text file then has as many lines as this file has lines or distinct inputs.

    Args:
        references: a file of inputs and references; the references become a column.

    Raises:
        ScorerError: a file that cannot be read or used; with ``strict``, the first malformed line.
    """
    form = Form(read_mr, options, True, True, _repair_pounds)
    rows = Rows()
    find: References = no_references
    if references is not None:
        find = _by_key(read_sheet(parse_source(references), form, problems, "").inputs, rows)
    if options.texts:
        if len(inputs) != 1:
            raise UsageError(f"--texts needs exactly one file of inputs, but {len(inputs)} were given")
        source = parse_source(inputs[0])
        sheet = read_sheet(source, form, problems)
        if references is None and sheet.has_text:
            find = _by_key(sheet.inputs, rows)
        distinct = list({one.key: one for one in reversed(sheet.inputs)}.values())[::-1]
        rows.add_text_files([sheet.inputs, distinct], source.shown, find, options, problems)
    else:
        seen: set[object] = set()
        for source in parse_systems(inputs):
            hint = "; name it with --text-column, or pass the texts with --texts"
            found = read_sheet(source, form, problems, hint).inputs
            seen.update(one.key for one in found)
            rows.add_own_texts(found, source.name, find)
        rows.inputs = len(seen)
    rows.derive("gold_fine", ("added", "missing", "valerr"), slot_label)
    return rows


def slot_label(added: str, missing: str, wrong: str) -> str | None:
    """The FINE label of a text from the counts of the slot script, as the code of Dušek & Kasner (2020) reads them.

    A slot with a wrong value is an omission and a hallucination; repetitions count for nothing.
    """
    try:
        extra, omitted, other = (float(count) > 0 for count in (added, missing, wrong))
    except ValueError:
        return None
    if other or (extra and omitted):
        return "omission+hallucination"
    return "hallucination" if extra else "omission" if omitted else "OK"


def _repair_pounds(value: str) -> str:
    """A value with the pound signs that some outputs have as ``Ł``, as the released reader has them too."""
    return _POUND.sub("£", value)


def read_mr(mr: str) -> list[Triple] | str:
    """The triples of a meaning representation, or a description of its error."""
    triples = parse_mr(mr)
    if triples is not None:
        return triples
    if not mr.strip():
        return "an empty meaning representation"
    names = mr.replace(" ", "").count("name[")
    if names != 1:
        return "a meaning representation without a name" if not names else f"a meaning representation of {names} names"
    return "not a meaning representation like name[...], food[...]"


def _by_key(known: Sequence[Input], rows: Rows) -> References:
    """Look up references by input; inputs without references get an empty list and are noted."""
    by_key: dict[object, list[str]] = {}
    for one in known:
        by_key.setdefault(one.key, []).extend(one.references())

    def look_up(source: Input, text: Text | None) -> list[str]:
        if source.key not in by_key:
            rows.unreferenced.add(source.key)
        return by_key.get(source.key, [])

    return look_up
