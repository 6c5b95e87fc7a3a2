"""The CSV file of rows to label: written by ``scorer sample``, filled in by people, read by ``scorer rate``.

Each row carries the design of the sample, so that the file is all that is needed with the output it was drawn from.
The metric's label is not in it, so that it does not influence the people; the rows are in random order.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import InputError
from ...metric.verdict import FINE, ROUGH
from .population import Stratum

LABEL, COMMENT = "label", "comment"
COLUMNS = (
    "item", "file", "row", "row_key", "group", "facts", "text", LABEL, COMMENT, "stratum", "stratum_label",
    "stratum_from", "stratum_below", "stratum_rows", "stratum_drawn", "probability", "signature",
)  # fmt: skip
NEEDED = ("file", "row", "row_key", LABEL, "stratum_label", "stratum_from", "stratum_below", "stratum_rows")
_MEANING = {name.lower(): name for name in (*FINE, *ROUGH)}
_MEANING |= {"hallucination+omission": "omission+hallucination", "not ok": "not_OK", "both": "omission+hallucination"}
_LARGEST = 1 << 22  # characters of a field


@dataclass(frozen=True)
class Item:
    """A row to label. ``item``: its number in the file, from 1. ``group``: of the column that the sample was spread
    over, empty without one. ``facts``: in words. ``drawn``: rows drawn from its stratum, of ``rows`` in all."""

    item: int
    file: str
    row: int
    row_key: str
    group: str
    facts: tuple[str, ...]
    text: str
    stratum: Stratum
    rows: int
    drawn: int
    signature: str

    def cells(self) -> list[str]:
        """Values of :data:`COLUMNS`; label and comment are empty."""
        stratum = self.stratum
        bounds = ["" if bound is None else repr(bound) for bound in (stratum.low, stratum.high)]
        shown = [_harmless(value) for value in (self.group, "\n".join(self.facts), self.text)]
        return [str(self.item), self.file, str(self.row), self.row_key, *shown, "", "", stratum.name, stratum.label,
                *bounds, str(self.rows), str(self.drawn), repr(self.drawn / self.rows), self.signature]  # fmt: skip


@dataclass(frozen=True)
class LabelledItem:
    """A row of the file as people left it. ``label``: ``None`` where they left it empty. ``line``: for messages."""

    line: int
    file: str
    row: int
    row_key: str
    label: str | None
    stratum: Stratum
    rows: int
    signature: str


def write_items(items: Sequence[Item]) -> bytes:
    """The file, as UTF-8 with the mark by which spreadsheets recognise it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows(item.cells() for item in items)
    return out.getvalue().encode("utf-8-sig")


def read_items(path: Path) -> list[LabelledItem]:
    """Read a file that people filled in, also as a spreadsheet saves it (semicolons or tabs, a byte order mark).

    Raises:
        InputError: cannot be read, lacks a column, or has a label or a number that is not one; names the line.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as e:
        raise InputError(f"--labels {path}: {e.strerror or e}; give the CSV file that `scorer sample` wrote") from e
    except UnicodeDecodeError as e:
        raise InputError(f"--labels {path} is not UTF-8 ({e.reason}); save it as CSV UTF-8") from e
    head = text.split("\n", 1)[0]
    separator = max(",;\t", key=head.count)
    csv.field_size_limit(_LARGEST)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(
                f"--labels {path} has no column {missing[0]!r}; give the CSV file that `scorer sample` wrote"
            )
        return [_item(path, reader.line_num, row) for row in reader]
    except csv.Error as e:
        raise InputError(f"--labels {path} is no CSV: {e}") from e


def _harmless(value: str) -> str:
    """A value that no spreadsheet takes for a formula; these columns are for people and are not read again."""
    return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _item(path: Path, line: int, row: dict[str, str | None]) -> LabelledItem:
    where = f"--labels {path}, line {line}"
    values = {name: (row.get(name) or "").strip() for name in (*NEEDED, "signature")}
    label = None
    if values[LABEL]:
        label = _MEANING.get("+".join(part.strip() for part in values[LABEL].lower().split("+")))
        if label is None:
            known = ", ".join((*FINE, ROUGH[1]))
            raise InputError(f"{where}: label {values[LABEL][:60]!r}; write one of {known}, or leave it empty")
    try:
        low, high = (float(values[name]) if values[name] else None for name in ("stratum_from", "stratum_below"))
        stratum = Stratum(values["stratum_label"], low, high)
        numbers = int(values["row"]), int(values["stratum_rows"])
    except ValueError as e:
        raise InputError(f"{where}: a number was changed: {e}; only the columns label and comment may change") from e
    return LabelledItem(line, values["file"], numbers[0], values["row_key"], label, stratum, numbers[1],
                        values["signature"])  # fmt: skip
