"""The field's own files (E2E, WebNLG) as one table of inputs for a run.

Reads what was published, as it was published: quotes, byte order marks, headers of several spellings, lines that are
broken. Every line that is a row becomes a row; what cannot be read in it is null, and is reported with file and line.
"""

from __future__ import annotations

from .e2e import convert_e2e
from .problems import Problems
from .rows import Rows
from .webnlg import convert_webnlg
from .writing import check_output, write_rows

__all__ = ["Problems", "Rows", "check_output", "convert_e2e", "convert_webnlg", "write_rows"]
