"""Whether an output and the inputs of its run lie apart, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..system.input_formats import Format
from .filesystems import check_output_apart
from .objects.uri import Location, check_stores_apart


def check_apart(inputs: Sequence[str], out: Location, form: Format) -> None:
    """Refuse an output among the inputs: the next run would take its outputs for inputs.

    Raises:
        OutputError: they contain one another.
    """
    if isinstance(out, Path):
        check_output_apart(list(inputs), out, form)
    else:
        check_stores_apart(inputs, out)
