"""A canonical form of content that is compared or hashed: equal content has equal text.

Strings are never joined for this: ``a,b`` and ``c`` joined by a comma equal ``a`` and ``b,c``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

_SHOWN = 40


def canonical(content: Any) -> str:
    """Content as JSON with sorted keys, without blanks, in ASCII. Tuples are lists.

    Raises:
        TypeError, ValueError: content that JSON cannot represent, such as NaN.
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(content: Any) -> str:
    """SHA-256 of :func:`canonical` content, as hex."""
    return sha256(canonical(content).encode("ascii")).hexdigest()


def normal(content: Any) -> Any:
    """Content as it would be read back from JSON, for comparison with content that was read."""
    return json.loads(canonical(content))


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The keys in which two objects differ, sorted, as ``key value → value``; long values and digests are shortened.

    A nested object is compared key by key. If the shortened values are equal, only the key is named.
    """
    found = []
    for key in sorted({*before, *after}):
        one, other = before.get(key), after.get(key)
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += changes(one, other)
            continue
        shown = _shown(one), _shown(other)
        found.append(f"{key} {shown[0]} → {shown[1]}" if shown[0] != shown[1] else key)
    return found


def line_parts(line: str) -> dict[str, str]:
    """The parts of a signature line (``key:value|key:value``) by key."""
    return dict(part.partition(":")[::2] for part in line.split("|"))


def _shown(value: Any) -> str:
    """A value on one line of bounded length; digests in a list are shortened to twelve digits."""
    if value is None:
        return "none"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value[:4]))}{', ...' if len(value) > 4 else ''}]"
    text = value if isinstance(value, str) else canonical(value)
    if len(text) == 64 and all(c in "0123456789abcdef" for c in text):
        return text[:12]
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
