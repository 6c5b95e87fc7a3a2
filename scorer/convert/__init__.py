"""Convert the published files of the field (E2E, WebNLG) to one table of inputs for a run.

Files are read as they were published, with quotes, byte order marks, several forms of headers and malformed lines.
Every line that is a row becomes a row; a value that cannot be read becomes null, and is reported with file and line.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..system.arguments import CheckedFields, option


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(CheckedFields):
    """Options for reading the files, and the treatment of malformed lines."""

    texts: tuple[str, ...] = option("Texts of a system, one line per input. Repeatable.", "[NAME=]FILE", ())
    mr_column: str | None = option("Column of inputs. Default: mr or orig_mr.", "NAME", None)
    text_column: str | None = option(
        "Column of texts. Default: a usual name, such as text, output or ref.", "NAME", None
    )
    empty: tuple[str, ...] = option("Word that means an empty text, such as null. Repeatable.", "WORD", ())
    strict: bool = option("Exit 2 at the first malformed line. Default: report it, and write nulls.", default=False)
    force: bool = option("Replace files that exist.", default=False)
