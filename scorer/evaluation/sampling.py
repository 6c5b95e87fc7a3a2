"""Rows of an output to label by hand: the sample, and the CSV file that annotators fill in.

Rows are drawn at random within each label of the metric. The file has the facts, the text and an id: the row's number,
scrambled, since neither the metric's label nor the system must influence annotators, and a digest of the output's
labels.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..errors import ColumnError, InputError
from ..metric.columns import output_names
from ..metric.fact_templates import Templates
from ..metric.inputs import find_columns
from ..metric.joining import join
from ..metric.verdict import FINE, ROUGH
from ..scoring.output_columns import encode_names, spelled
from ..scoring.outputs import Output
from ..storage.finished_output import locations_of
from ..storage.location import Location
from .gold import Scored, fact_columns, load, predicted
from .label_figures import Codes, Indices
from .sheet import as_page

LEAST = 10
"""Rows to draw of each label of the metric, as far as there are as many."""
NO_LABEL = "no label"
ITEM, LABEL = "item", "label"
COLUMNS = (ITEM, "facts", "text", LABEL, "comment")
_MEANING = {name.lower(): name for name in (*FINE, *ROUGH)}
_MEANING |= {"hallucination+omission": "omission+hallucination", "not ok": "not_OK", "both": "omission+hallucination"}
_LARGEST_FIELD, _LARGEST_FILE = 1 << 22, 256 << 20
_NUMBERS, _FACTOR = 1 << 40, 0x9E3779B97F  # odd, so that it has an inverse


@dataclass(frozen=True)
class LabelledOutput:
    """An output with the metric's label of every row."""

    name: str
    """Name of the output for messages."""
    output: Output
    """The output."""
    scored: Scored
    """The columns that were read."""
    fine: Codes
    """The metric's labels. int8, *Shape:* (rows,), -1 without a label."""
    has_sides: bool
    """Whether the labels distinguish omissions from hallucinations."""
    digest: str
    """Digest of row keys and labels in order, 8 hexadecimal digits."""

    def __len__(self) -> int:
        return len(self.fine)

    @property
    def classes(self) -> dict[int, str]:
        """The codes of ``fine`` that occur, and their names."""
        names = (*FINE, NO_LABEL) if self.has_sides else (*ROUGH, NO_LABEL)
        return {code: names[code] for code in np.unique(self.fine).tolist()}

    def groups(self, column: str) -> tuple[Indices, list[str]]:
        """Group of every row by a column, *Shape:* (rows,), and the names of the groups in order.

        Raises:
            ColumnError: there is no such column, or it has lists or structs.
        """
        if not self.scored.has(column):
            raise ColumnError(f"no column {column!r} in {self.name}; the run may have dropped it (--keep)")
        codes, values = encode_names(self.scored.array(column), column)
        order = sorted(range(len(values)), key=lambda code: (values[code] is None, values[code] or ""))
        return np.argsort(order)[codes].astype(np.int64), [spelled(values[code]) for code in order]

    def item(self, row: int) -> str:
        """The id of a row in the file of labels."""
        return f"{(row + 1) * _FACTOR % _NUMBERS:010x}-{self.digest}"

    def row(self, item: str) -> int | None:
        """The row of an id; ``None`` if it is not of this output."""
        scrambled, _, digest = item.partition("-")
        try:
            row = int(scrambled, 16) * pow(_FACTOR, -1, _NUMBERS) % _NUMBERS - 1
        except ValueError:
            return None
        return row if digest == self.digest and 0 <= row < len(self) else None


def read_labels(
    out: Location | Sequence[Location],
    name: str,
    further_columns: Sequence[str] = (),
    allow_partial: bool = False,
    *,
    output_columns: Sequence[str] = (),
    with_facts: bool = False,
) -> LabelledOutput:
    """Read the labels of a run's output or its parts, or of a single scored file, and other columns that it has.

    Args:
        name: name of the output for messages.
        further_columns: names of further columns to read.
        output_columns: further output columns to read, by their names without prefix.
        with_facts: read the columns of facts, too; they identify the inputs.

    Raises:
        ScorerError: nothing to read, files scored differently, no rows, or no labels.
    """
    output = Output.open(*locations_of(out), allow_partial=allow_partial)
    columns = output.columns
    key = columns.output("row_key")
    facts = fact_columns(columns) if with_facts else ()
    labels = [columns.output(column) for column in ("fine", "rough", "row_key", *output_columns)]
    scored = load(output, [*labels, *facts, *further_columns])
    sides, rough = predicted(scored, columns)
    fine = rough if sides is None else sides
    if not len(fine):
        raise InputError(f"{name} has no rows")
    digest = hashlib.blake2b(fine.tobytes(), digest_size=4)
    if scored.has(key):
        for batch in scored.table.select([key]).to_batches(max_chunksize=1 << 16):
            digest.update(b"".join(batch.column(0).cast(pa.binary()).fill_null(b"").to_pylist()))
    return LabelledOutput(name, output, scored, fine, sides is not None, digest.hexdigest())


def draw_rows(output: LabelledOutput, count: int, seed: int, by: str | None = None) -> Indices:
    """Numbers of ``count`` rows to label, a few more where every label of the metric needs :data:`LEAST`, in random
    order; rows of each label are spread over the groups of a column in proportion. *Shape:* (labels,)."""
    rng = np.random.default_rng(seed)
    groups = output.groups(by)[0] if by is not None else np.zeros(len(output), np.int64)
    classes = [np.flatnonzero(output.fine == code) for code in output.classes]
    sizes = np.array([len(rows) for rows in classes])
    drawn = []
    for rows, number in zip(classes, _allocate(sizes, count).tolist(), strict=True):
        shuffled = rng.permutation(rows)
        in_order = shuffled[np.argsort(groups[shuffled], kind="stable")]
        # At equal distances from a random start, so that every row has the same probability.
        drawn.append(in_order[np.floor((rng.random() + np.arange(number)) * len(rows) / number).astype(np.int64)])
    return rng.permutation(np.concatenate(drawn))


def _allocate(sizes: Indices, count: int) -> Indices:
    """Rows to draw of each class: the least of all, then in proportion (Sainte-Laguë). *Shape:* (classes,)."""
    allocated = np.minimum(sizes, LEAST)
    for _ in range(min(count, int(sizes.sum())) - int(allocated.sum())):
        allocated[int(np.argmax(np.where(allocated < sizes, sizes / (allocated + 0.5), -1.0)))] += 1
    return allocated


def write_items(output: LabelledOutput, rows: Indices, csv_name: str | None = None) -> tuple[bytes, list[str]]:
    """The file for annotators, and remarks for the user. The file is CSV in UTF-8, with the byte order mark by which
    spreadsheets recognise it.

    Args:
        csv_name: name of a CSV file: write a page for a browser instead, which saves this file.

    Raises:
        ColumnError: the run did not keep the facts or the texts.
        InputError: a file cannot be read.
    """
    notes = [] if output.scored.finished else ["the output is not finished: the sample covers the shards that are done"]
    templates, _ = output.output.find_templates()
    if templates is None:
        notes.append("the templates of the run are not found unchanged; facts are written by the backoff template")
    contents = _contents(output.output, rows, templates if templates is not None else Templates())
    if csv_name is not None:
        return as_page([(output.item(row), *contents[row]) for row in rows.tolist()], csv_name), notes
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows.tolist():
        facts, text = contents[row]
        writer.writerow([output.item(row), _harmless("\n".join(facts)), _harmless(text), "", ""])
    return out.getvalue().encode("utf-8-sig", "replace"), notes


def _harmless(value: str) -> str:
    """A value that no spreadsheet takes for a formula; these columns are not read again."""
    return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _contents(output: Output, rows: Indices, templates: Templates) -> dict[int, tuple[list[str], str]]:
    """By row number, its facts in words and its text; only the row groups that hold the rows are read."""
    columns = replace(output.columns, keep=())
    added = {*output_names(replace(columns, sentences=True, details=True))}
    input_schema = pa.schema([field for field in output.schema if field.name not in added])
    try:
        names = find_columns(input_schema, columns).needed
    except ColumnError as e:
        raise ColumnError(
            f"{output.name} lacks what people need to judge a row: {e}; score with all columns kept"
        ) from e
    contents = {}
    for number, table in output.rows(rows.tolist(), [*names, output.marks]).items():
        row = join(find_columns(table.schema, columns).rows(output.with_marks(table)), templates, output.optional)
        facts = row.triples.ids if row.used is None else row.triples.ids[row.used]
        text = row.texts[row.text_codes[0]] or ""
        contents[number] = [templates.fill(row.triples.distinct[i]).text for i in facts], text
    return contents


def read_items(output: LabelledOutput, path: Path) -> dict[int, str]:
    """The labels of annotators, by row; also from a file that a spreadsheet saved with semicolons or tabs.

    Raises:
        InputError: the file cannot be read, has no such column or no label, or a line has an id of another output or an
            invalid label; names the line.
    """
    try:
        text = path.read_bytes()[:_LARGEST_FILE].decode("utf-8-sig")
    except OSError as e:
        raise InputError(f"--labels {path}: {e.strerror or e}; give the CSV file that `scorer sample` wrote") from e
    except UnicodeDecodeError as e:
        raise InputError(f"--labels {path} is not UTF-8 ({e.reason}); save it as CSV UTF-8") from e
    head = text.split("\n", 1)[0]
    csv.field_size_limit(_LARGEST_FIELD)
    labels: dict[int, str] = {}
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
        missing = [name for name in (ITEM, LABEL) if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(
                f"--labels {path} has no column {missing[0]!r}; give the CSV file that `scorer sample` wrote"
            )
        for line in reader:
            item, spelling = ((line.get(name) or "").strip() for name in (ITEM, LABEL))
            if not spelling:
                continue
            where, row = f"--labels {path}, line {reader.line_num}", output.row(item)
            if row is None:
                raise InputError(
                    f"{where}: item {item[:60]!r} is not of {output.name} as it is now; give the output that the "
                    "sample was drawn from, unchanged, or draw a new sample"
                )
            if row in labels:
                raise InputError(f"{where}: item {item} is there twice")
            label = _MEANING.get("+".join(part.strip() for part in spelling.lower().split("+")))
            if label is None:
                accepted = ", ".join((*FINE, ROUGH[1]))
                raise InputError(f"{where}: label {spelling[:60]!r}; write one of {accepted}, or leave it empty")
            labels[row] = label
    except csv.Error as e:
        raise InputError(f"--labels {path} is not CSV: {e}") from e
    if not labels:
        raise InputError(f"--labels {path} has no label yet; fill in the column {LABEL}")
    return labels
