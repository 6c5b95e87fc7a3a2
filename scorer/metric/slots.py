"""Templates as text with slots: split, filled in one pass, and written as a template file has them."""

from __future__ import annotations

import re
from collections.abc import Mapping

Pattern = tuple[str, ...]
"""A template split at its slots: literals at even positions, names of slots at odd ones."""
OTHER_SLOT = re.compile(r"\{(subject|object)\}", re.IGNORECASE)
"""A slot in the notation of other programs."""
_QUOTED = re.compile(r"""\A["'](.*)["']\Z""", re.DOTALL)


def unquoted(value: str) -> str:
    """An object without the quotes around it."""
    return _QUOTED.sub(r"\1", value)


def fill_slots(pattern: Pattern, values: Mapping[str, str]) -> str:
    """A template with values in its slots, in one pass; ``_`` becomes a space."""
    return "".join([values[part] if i % 2 else part for i, part in enumerate(pattern)]).replace("_", " ")


def to_text(pattern: Pattern) -> str:
    """A template in the notation of a template file."""
    return "".join(f"<{part}>" if i % 2 else part for i, part in enumerate(pattern))
