"""Reproduce the tables of Dušek & Kasner (INLG 2020): both data sets, both protocols, with templates and by backoff.

For the protocol ``nlgi_eval``, the data is prepared as the authors' code read it (see ``docs/reproduce.md``): E2E slots
have the code's names, and an empty text is the word "nan".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console

from benchmarks.paper.published import ROWS, label_figures
from scorer.commands.console import number, signed, table
from scorer.errors import ColumnError, InputError, TemplateError, UsageError
from scorer.evaluation import EvaluateOptions
from scorer.evaluation.report import LabelReport, evaluate
from scorer.storage.local_files import make_folders, output_errors
from scorer.storage.receipts import Signature
from scorer.storage.user_files import write_user_file
from scorer.system.terminal import all_visible

FILES = {"e2e": "e2e_primary.parquet", "webnlg": "webnlg17_humeval.parquet"}
SLOT_NAMES = {
    "eatType": "eat_type", "priceRange": "price_range", "familyFriendly": "family_friendly",
    "customer rating": "rating",
}  # fmt: skip
"""The code's names of E2E slots; its backoff texts contain these names."""
FIGURES = {"fine.accuracy": "Af", "rough.accuracy": "Ar", "rough.recall": "R", "rough.precision": "P", "rough.f1": "F1",
           "rho": "ρ"}  # fmt: skip
_TRIPLES = pa.list_(pa.struct([(part, pa.string()) for part in ("subject", "predicate", "object")]))
_NEEDED = {"triples": _TRIPLES, "text": pa.string()}
_GOLD = {"e2e": ("gold_fine",), "webnlg": ("gold_rough", "human_semantics")}
Score = Callable[[Path, Path, Path, str], None]
"""Scores (input, template file, output folder, protocol)."""


class Condition(NamedTuple):
    """One run. ``templates``: ``Default`` or ``Backoff``."""

    data: str
    templates: str
    protocol: str

    @property
    def name(self) -> str:
        return f"{self.data}-{self.protocol}-{self.templates.lower()}"


CONDITIONS = [Condition(*one) for one in product(FILES, ("Default", "Backoff"), ("paper", "nlgi_eval"))]
"""All eight conditions, in the order of the table."""


def reproduce(
    data: Path, templates: dict[str, Path], out: Path, score: Score, *, resamples: int = 1000
) -> list[dict[str, Any]]:
    """Prepare, score and evaluate all conditions; of each ``n``, ``errors``, and by :data:`FIGURES` the ``ours``,
    ``interval``, ``published`` and ``difference``. ``templates``: file by data set.

    Raises:
        ScorerError: as :func:`prepare`. UsageError: the model was replaced during the runs.
    """
    prepared = prepare(data, templates, out)  # which reads all inputs before the first run
    lines = []
    for condition in CONDITIONS:
        folder = out / condition.name
        score(*prepared[condition], folder, condition.protocol)
        options = EvaluateOptions(human=("human_semantics",) if condition.data == "webnlg" else (), resamples=resamples)
        lines.append(_line(condition, evaluate(folder, options)))
        _check_model(lines[0], lines[-1])
    return lines


def prepare(data: Path, templates: dict[str, Path], out: Path) -> dict[Condition, tuple[Path, Path]]:
    """Check the data, and write the input and the template file of every condition below ``out``.

    Raises:
        InputError, ColumnError: a data file cannot be read, or has no texts and triples. TemplateError: a template file
            cannot be read. OutputError: ``out`` cannot be written.
    """
    inputs, files = out / "inputs", out / "templates"
    _put(files / "backoff.json", b"{}")
    for name, file in FILES.items():
        given = _read(data / file)
        for column in _GOLD[name]:
            if column not in given.schema.names or given[column].null_count == len(given):
                raise ColumnError(f"{data / file} has no {column}; docs/reproduce.md says how to make this file")
        for protocol, read in (("paper", given), ("nlgi_eval", _as_the_code_read_it(given))):
            sink = pa.BufferOutputStream()
            pq.write_table(read, sink)
            _put(inputs / f"{name}-{protocol}.parquet", sink.getvalue().to_pybytes())
        _put(files / f"{name}.json", json.dumps(_with_aliases(templates[name])).encode())
    names = {condition: "backoff" if condition.templates == "Backoff" else condition.data for condition in CONDITIONS}
    return {c: (inputs / f"{c.data}-{c.protocol}.parquet", files / f"{name}.json") for c, name in names.items()}


def print_lines(lines: Iterable[dict[str, Any]], console: Console) -> None:
    made = table("data", "templates", "protocol", *FIGURES.values(), "n", "errors", left=3)
    for line in all_visible(list(lines)):
        cells = [number(line["ours"][name]) for name in FIGURES]
        made.add_row(line["data"], line["templates"], line["protocol"], *cells, f"{line['n']:,}", str(line["errors"]))
        printed = [number(line["published"][name]) for name in FIGURES]
        made.add_row("", "", "  published", *printed, style="dim")
        made.add_row("", "", "  difference", *(signed(line["difference"][name]) for name in FIGURES), style="dim")
    console.print(made)


def _line(condition: Condition, report: LabelReport) -> dict[str, Any]:
    data = "e2e" if condition.data == "e2e" else "webnlg17"
    row = next(row for row in ROWS if (row.data, row.row) == (data, condition.templates))
    found = label_figures(report)
    line: dict[str, Any] = {
        **condition._asdict(), "signature": report["signature"], "n": report["rough"]["n"],
        "errors": report["errors"]["n"], "ours": {}, "interval": {}, "published": {}, "difference": {},
    }  # fmt: skip
    for figure in FIGURES:
        ours, printed = found.get(figure, (None, 0))[0], row.figures.get(figure)
        line["ours"][figure], line["published"][figure] = ours, printed
        line["interval"][figure] = _interval(report, figure)
        line["difference"][figure] = None if ours is None or printed is None else ours - printed
    return line


def _interval(report: LabelReport, figure: str) -> Any:
    block, _, name = figure.partition(".")
    if name:
        return report[block].get("interval", {}).get(name)
    return (report["correlation"] or {}).get("interval", {}).get("spearman")


def _check_model(first: dict[str, Any], last: dict[str, Any]) -> None:
    """Refuse results of two models, for example if the bundle was replaced during the eight runs."""
    one, other = (Signature.of_line(line["signature"] or "") for line in (first, last))
    changed = [str(change) for change in one.changes_to(other) if change.key in ("model", "prec", "metric")]
    if changed:
        raise UsageError(
            f"the runs of {first['data']} {first['templates']} and {last['data']} {last['templates']} are of different "
            f"models ({'; '.join(changed)}): remove the output folder and start again"
        )


def _as_the_code_read_it(table: pa.Table) -> pa.Table:
    """The code's names of E2E slots, and "nan" for an empty text, as pandas reads it."""
    triples = [
        row and [fact | {"predicate": SLOT_NAMES.get(fact["predicate"], fact["predicate"])} for fact in row]
        for row in table["triples"].to_pylist()
    ]
    texts = pc.if_else(pc.equal(pc.utf8_trim_whitespace(table["text"]), ""), "nan", table["text"])
    return _with(_with(table, "triples", pa.array(triples, _TRIPLES)), "text", texts)


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, column)


def _with_aliases(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise TemplateError(f"{path} cannot be read as a template file: {e}") from e
    if not isinstance(content, dict):
        raise TemplateError(f"{path}: the top level is {type(content).__name__}, not an object of predicates")
    aliases = {coded: plain for plain, coded in SLOT_NAMES.items() if plain in content and coded not in content}
    if aliases:
        content["$aliases"] = {**content.get("$aliases", {}), **aliases}
    return content


def _read(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"{path} cannot be read as Parquet: {e}") from e
    for name, kind in _NEEDED.items():
        try:
            table = _with(table, name, table[name].cast(kind))
        except (KeyError, pa.ArrowException) as e:
            raise ColumnError(f"{path}: column {name!r} is needed as {kind}; the columns are {table.schema}") from e
    return table


def _put(path: Path, content: bytes) -> None:
    """Write a file unless it has this content already: a run whose input has a new date starts over."""
    with output_errors("read", path):
        is_there = path.is_file() and path.read_bytes() == content
    if not is_there:
        with output_errors("create", path.parent):
            make_folders(path.parent)
        write_user_file(path, content, "--out")
