"""The files of rows to label: written by ``scorer sample``, filled in by people, read by ``scorer rate``.

``labels.csv`` is for people: facts, text, and an opaque id. Neither the metric's label nor the system is in it, so that
neither influences them; the rows are in random order. ``labels.design.json`` next to it says which row of the output
each id is, and how the rows were drawn. ``labels.second.csv`` asks a second person for some of the same rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import DamagedFileError, InputError, SchemaError
from ...metric.verdict import FINE, ROUGH
from ...scoring.rates_file import Count
from ...system.codec import Record, decode, encode
from ...system.files import read_small
from ...system.formats import DESIGN_SCHEMA
from .population import Drawn

LABEL, COMMENT = "label", "comment"
COLUMNS = ("item", "facts", "text", LABEL, COMMENT)
_MEANING = {name.lower(): name for name in (*FINE, *ROUGH)}
_MEANING |= {"hallucination+omission": "omission+hallucination", "not ok": "not_OK", "both": "omission+hallucination"}
_LARGEST = 1 << 22  # characters of a field
_LARGEST_FILE = 256 << 20


@dataclass(frozen=True)
class Item:
    """A row to label. ``item``: an id that says nothing of the row. ``facts``: in words."""

    item: str
    file: str
    row: int
    row_key: str
    facts: tuple[str, ...]
    text: str

    def cells(self) -> list[str]:
        """Values of :data:`COLUMNS`; label and comment are empty."""
        return [self.item, _harmless("\n".join(self.facts)), _harmless(self.text), "", ""]


class DesignItem(Record, frozen=True, kw_only=True):
    """The row of the output that an id stands for. ``twice``: a second person is asked as well."""

    file: str
    row: Count
    row_key: str
    twice: bool


class SampleDesign(Record, frozen=True, kw_only=True):
    """How a sample was drawn. ``signature``: of the output."""

    schema: int = DESIGN_SCHEMA
    out: str
    signature: str
    strata: list[Drawn]
    items: dict[str, DesignItem]


@dataclass(frozen=True)
class LabelledItem:
    """A line of the file as people left it. ``label``: ``None`` where they left it empty. ``line``: for messages."""

    line: int
    item: str
    label: str | None


def design_path(path: Path) -> Path:
    """``labels.design.json`` of ``labels.csv``."""
    return path.with_name(path.stem + ".design.json")


def second_path(path: Path) -> Path:
    """``labels.second.csv`` of ``labels.csv``."""
    return path.with_name(path.stem + ".second" + path.suffix)


def write_items(items: Sequence[Item]) -> bytes:
    """The file for people, as UTF-8 with the mark by which spreadsheets recognise it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows(item.cells() for item in items)
    return out.getvalue().encode("utf-8-sig", "replace")


def write_design(design: SampleDesign) -> bytes:
    """The file next to it."""
    return encode(design, indent=1) + b"\n"


def read_design(path: Path) -> SampleDesign:
    """The design that belongs to a file of labels.

    Raises:
        InputError: it is not there, cannot be read, or is damaged.
    """
    place = design_path(path)
    try:
        return decode(read_small(place, _LARGEST_FILE), SampleDesign, str(place), advice="draw a new sample")
    except OSError as e:
        raise InputError(
            f"{place}: {e.strerror or e}; `scorer sample` wrote it with the file of labels: keep both in one folder, "
            "under the names that they had"
        ) from e
    except (DamagedFileError, SchemaError) as e:
        raise InputError(str(e)) from e


def read_items(path: Path) -> list[LabelledItem]:
    """Read a file that people filled in, also as a spreadsheet saves it (semicolons or tabs, a byte order mark).

    Raises:
        InputError: cannot be read, lacks a column, or has a label that is not one; names the line.
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
        missing = [name for name in ("item", LABEL) if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(
                f"--labels {path} has no column {missing[0]!r}; give the CSV file that `scorer sample` wrote"
            )
        return [_item(path, reader.line_num, row) for row in reader]
    except csv.Error as e:
        raise InputError(f"--labels {path} is not CSV: {e}") from e


def _harmless(value: str) -> str:
    """A value that no spreadsheet takes for a formula; these columns are for people and are not read again."""
    return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _item(path: Path, line: int, row: dict[str, str | None]) -> LabelledItem:
    item, said = ((row.get(name) or "").strip() for name in ("item", LABEL))
    label = None
    if said:
        label = _MEANING.get("+".join(part.strip() for part in said.lower().split("+")))
        if label is None:
            known = ", ".join((*FINE, ROUGH[1]))
            raise InputError(
                f"--labels {path}, line {line}: label {said[:60]!r}; write one of {known}, or leave it empty"
            )
    return LabelledItem(line, item, label)
