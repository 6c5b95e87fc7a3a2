"""Convert the published files of the field (E2E, WebNLG) to one table of inputs for a run.

Files are read as they were published, with quotes, byte order marks, several forms of headers and malformed lines.
Every line that is a row becomes a row; a value that cannot be read becomes null, and is reported with file and line.
"""

from __future__ import annotations

from .e2e import convert_e2e
from .files import Problems
from .rows import Rows, check_output
from .webnlg import convert_webnlg

__all__ = ["Problems", "Rows", "check_output", "convert_e2e", "convert_webnlg"]
