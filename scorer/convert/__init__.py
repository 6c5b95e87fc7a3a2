"""The field's own files (E2E, WebNLG, Quintd) as one table of inputs for a run.

Reads what was published, as it was published: quotes, byte order marks, headers of several spellings, lines that are
broken. Every line that is a row becomes a row; what cannot be read in it is null, and is reported with file and line.
"""

from __future__ import annotations

from .e2e import convert_e2e
from .problems import Problems
from .quintd import Quintd, convert_quintd
from .rows import Rows
from .webnlg import convert_webnlg
from .writing import check_output, write_rows, write_table

__all__ = [
    "Problems",
    "Quintd",
    "Rows",
    "check_output",
    "convert_e2e",
    "convert_quintd",
    "convert_webnlg",
    "write_rows",
    "write_table",
]
