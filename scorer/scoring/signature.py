"""Signature of scores: what they depend on, in one line, as of sacreBLEU. Scores compare only under equal signatures.

``model:<name>@<sha12>|prec:|ep:|exact:|templates:<sha12>|protocol:|optional:|checks:|maxlen:|overlong:|metric:<rev>``;
after ``checks`` comes ``sentences:<splitter>`` where sentences were checked, and nothing where they were not; at the
end ``scheme:`` where the model's is not ``nli``. The protocol ``factspotter`` has no ``templates:``.

The line shows twelve digits of a digest, which two files can be made to share in minutes. So a second form of the
signature holds all parts with whole digests, as canonical JSON, and comparisons use it wherever both sides have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import msgspec

from ..metric import REVISION, Options
from ..storage.receipts import Signature, canonical, line_parts

if TYPE_CHECKING:
    from ..inference.engine import Engine
    from ..metric.templates import Templates

_SHOWN_DIGITS = 12
_SEPARATORS = "%|,="
_NONE = "none"


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    """A file that records a signature: its line, and its parts."""

    signature_line: str = msgspec.field(name="signature")
    signature_parts: Mapping[str, Any]

    @property
    def signature(self) -> Signature:
        """Both forms of it."""
        return Signature(self.signature_line, canonical(self.signature_parts))


def signature(engine: Engine, templates: Templates, options: Options, *, truncate: bool) -> Signature:
    """The signature of scores by this engine, with these templates and options."""
    parts: dict[str, Any] = {
        "model": [engine.bundle.name, engine.bundle.sha256],
        "prec": engine.precision,
        "ep": engine.device.kind,
        "exact": "yes" if engine.exact else "no",
        **({} if options.protocol == "factspotter" else {"templates": templates.sha256}),
        "protocol": options.protocol,
        "optional": sorted(map(list, options.optional)),
        "checks": options.sides,
        **({"sentences": options.sentences} if options.sentences else {}),
        "maxlen": engine.bundle.max_length,
        "overlong": "truncate" if truncate else "error",
        "metric": REVISION,
        **({"scheme": engine.bundle.scheme.kind} if engine.bundle.scheme.kind != "nli" else {}),
    }
    return of_parts(parts)


def of_parts(parts: Mapping[str, Any]) -> Signature:
    """A signature from its parts. Distinct parts have distinct whole forms.

    Distinct parts have distinct lines too, but for digests that share their first twelve digits: whatever could be
    read as a separator is percent-encoded.
    """
    shown = {
        **{key: encode(str(value)) for key, value in parts.items()},
        "model": f"{encode(parts['model'][0])}@{parts['model'][1][:_SHOWN_DIGITS]}",
        **({"templates": parts["templates"][:_SHOWN_DIGITS]} if "templates" in parts else {}),
        "optional": ",".join("=".join(map(encode, pair)) for pair in parts["optional"]) or _NONE,
    }
    return Signature("|".join(f"{key}:{shown[key]}" for key in parts), canonical(dict(parts)))


def parse(line: str) -> dict[str, str]:
    """The parts of a signature's line by key, still encoded."""
    return line_parts(line)


def optional_of(line: str) -> frozenset[tuple[str, str]]:
    """The optional facts that a signature's line names, as (predicate, object)."""
    given = parse(line).get("optional", _NONE)
    pairs = [spec.partition("=")[::2] for spec in given.split(",") if "=" in spec]
    return frozenset((_decode(predicate), _decode(value)) for predicate, value in pairs)


def encode(value: str) -> str:
    """A value as it stands in a line: separators and everything that is not printable are percent-encoded."""
    return "".join(
        quote(char, safe="", errors="surrogatepass") if char in _SEPARATORS or not char.isprintable() else char
        for char in value
    )


def _decode(value: str) -> str:
    return unquote(value, errors="surrogatepass")
