"""Convert the published files of the field (E2E, WebNLG, Quintd, D2T-Eval) to one table of inputs for a run.

Files are read as they were published, with quotes, byte order marks, several forms of headers and malformed lines.
Every line that is a row becomes a row; a value that cannot be read becomes null, and is reported with file and line.
"""

from __future__ import annotations

from .annotated import Annotated, Collection, convert_annotated
from .d2t_eval import D2T_EVAL
from .e2e import convert_e2e
from .problems import Problems
from .quintd import QUINTD
from .rows import Rows
from .webnlg import convert_webnlg
from .writing import check_output, write_rows, write_table

__all__ = [
    "D2T_EVAL",
    "QUINTD",
    "Annotated",
    "Collection",
    "Problems",
    "Rows",
    "check_output",
    "convert_annotated",
    "convert_e2e",
    "convert_webnlg",
    "write_rows",
    "write_table",
]
