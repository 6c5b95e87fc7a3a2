"""What plans and receipts record of files: what was read, what was written, and what an output depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..system.json_fields import Fields
from .canonical import canonical, changes, line_parts
from .pieces import Piece

_WHOLE, _PIECE = "signature_parts", "piece"
_NAMES = {_WHOLE: "signature"}


@dataclass(frozen=True)
class Identity:
    """What identifies an input: ``size`` in bytes, ``mtime_ns`` (``None`` where a store has none), the SHA-256 of its
    Parquet footer as hex, and the version that an object store gave it (empty for local files)."""

    size: int
    mtime_ns: int | None
    footer_sha256: str
    e_tag: str = ""

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        content: dict[str, object] = {
            "size": self.size,
            "mtime_ns": self.mtime_ns,
            "footer_sha256": self.footer_sha256,
        }
        return {**content, "e_tag": self.e_tag} if self.e_tag else content

    @classmethod
    def from_json(cls, found: Fields) -> Identity | None:
        """From a JSON object; ``None`` for the empty one, which stands for an input that could not be opened.

        Raises:
            OutputError: a field of another type, or one that is not known: it would have to be compared too.
        """
        if not found.content:
            return None
        found.only(cls.__dataclass_fields__)
        size, mtime_ns = found.required_count("size"), found.optional_integer("mtime_ns")
        return cls(size, mtime_ns, found.text("footer_sha256"), found.text("e_tag"))

    def changes_to(self, other: Identity) -> list[str]:
        """The names of the fields in which two identities differ, sorted."""
        return [name for name in sorted(self.__dataclass_fields__) if getattr(self, name) != getattr(other, name)]


@dataclass(frozen=True)
class InputRecord:
    """An input. ``identity``: ``None`` where it could not be opened. ``content``: SHA-256 of a local file as hex,
    ``None`` where it was not taken (:mod:`.content`). ``piece``: the rows of it, ``None`` for all."""

    uri: str
    identity: Identity | None
    content: str | None = None
    piece: Piece | None = None

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        found: dict[str, object] = {
            "uri": self.uri,
            "identity": self.identity.to_json() if self.identity is not None else {},
        }
        if self.content is not None:
            found["content_sha256"] = self.content
        if self.piece is not None:
            found["piece"] = self.piece.to_json()
        return found

    @classmethod
    def from_json(cls, found: Fields) -> InputRecord:
        """From a JSON object; see :class:`Fields` for errors."""
        piece = found.optional_inner("piece")
        return cls(
            found.text("uri"),
            Identity.from_json(found.inner("identity")),
            found.optional_text("content_sha256"),
            Piece.from_json(piece) if piece is not None else None,
        )


@dataclass(frozen=True)
class WrittenFile:
    """A committed file: SHA-256 as hex, size in bytes, rows. ``e_tag``: in an object store, its version."""

    sha256: str
    bytes: int
    rows: int
    e_tag: str = ""

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        content: dict[str, object] = {"sha256": self.sha256, "bytes": self.bytes, "rows": self.rows}
        return {**content, "e_tag": self.e_tag} if self.e_tag else content

    @classmethod
    def from_json(cls, found: Fields) -> WrittenFile:
        """From a JSON object; see :class:`Fields` for errors."""
        size, rows = found.required_count("bytes"), found.required_count("rows")
        return cls(found.text("sha256"), size, rows, found.text("e_tag"))


@dataclass(frozen=True)
class Maker:
    """What made an output. ``run``: id of the run; ``worker``: device of the worker and host. ``origin``: where it
    computed, as canonical JSON whose fields only the scorer knows. ``seconds``: by stage. ``computed``: pairs."""

    run: str
    worker: str
    origin: str
    seconds: Mapping[str, float]
    computed: int

    @classmethod
    def of(
        cls, run: str, worker: str, origin: Mapping[str, object], seconds: Mapping[str, float], computed: int
    ) -> Maker:
        """With the origin as a JSON object."""
        return cls(run, worker, canonical(dict(origin)), {key: round(s, 3) for key, s in seconds.items()}, computed)

    def origin_fields(self) -> Fields:
        """The fields of the origin."""
        return Fields.of(json.loads(self.origin), "a receipt")

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {
            "run": self.run,
            "worker": self.worker,
            "origin": json.loads(self.origin),
            "seconds": dict(self.seconds),
            "computed": self.computed,
        }

    @classmethod
    def from_json(cls, found: Fields) -> Maker:
        """From a JSON object; see :class:`Fields` for errors."""
        origin = canonical(found.inner("origin").content)
        seconds = found.magnitudes("seconds")
        return cls(found.text("run"), found.text("worker"), origin, seconds, found.count("computed"))


@dataclass(frozen=True)
class Fingerprint:
    """What an output depends on: a JSON object whose fields only the scorer knows, compared as a whole.

    ``text``: the object as canonical JSON, so that equal content is equal. Made by :meth:`of`.
    """

    text: str

    @classmethod
    def of(cls, content: Mapping[str, object]) -> Fingerprint:
        """From its fields, which JSON must have.

        Raises:
            TypeError, ValueError: content that JSON does not have.
        """
        return cls(canonical(dict(content)))

    def to_json(self) -> dict[str, object]:
        """The object."""
        return dict(json.loads(self.text))

    def includes(self, parts: Mapping[str, object]) -> bool:
        """Whether these fields are among its own, with these values."""
        mine = self.to_json()
        return all(mine.get(key) == value for key, value in json.loads(canonical(dict(parts))).items())

    @property
    def signature(self) -> tuple[object, object]:
        """The line and the parts of the signature among its fields."""
        mine = self.to_json()
        return mine.get("signature"), mine.get(_WHOLE)

    def differences(self, wanted: Fingerprint) -> list[str]:
        """In which parts another one differs, as ``signature differs: prec int8 → fp32``."""
        before, after = self.to_json(), wanted.to_json()
        found = []
        lines = before.get("signature"), after.get("signature")
        if lines[0] != lines[1]:
            parts = [line_parts(line) if isinstance(line, str) else {} for line in lines]
            found.append(f"signature differs: {', '.join(changes(*parts))}")
        for key in sorted({*before, *after} - {"signature"}):
            one, other = before.get(key), after.get(key)
            if one == other or (found and key == _WHOLE):
                continue
            if key == _PIECE:  # each piece differs by other numbers, and one reason is told for all
                found.append("it holds other rows of its input (--split-rows)")
                continue
            nested = (one, other) if isinstance(one, dict) and isinstance(other, dict) else ({key: one}, {key: other})
            found.append(f"{_NAMES.get(key, key)} differs: {', '.join(changes(*nested))}")
        return found
