"""A shard's receipt: the file whose presence makes a shard done, and all that must agree for it to be believed.

``OUT/_receipts/<relative>.json`` is written after the shard's output has its name. ``OUT/_failed/<relative>.json``
says why a shard was set aside. Neither is trusted further than it can be checked: a receipt carries a digest of its
own content, and the output is hashed in full.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..system.formats import RECEIPT_SCHEMA as SCHEMA
from .canonical import changes, digest, line_parts, normal
from .durable import Holder, atomic_json, crash_point, output_errors, read_json, refuse_links, sync_folder
from .listing import is_hidden

RECEIPTS, FAILED = "_receipts", "_failed"
_SUFFIX = ".json"
_WHOLE, _UNKNOWN = "signature_parts", "schema_1"
_NAMES = {_WHOLE: "signature"}
NO_RECEIPT, DAMAGED_RECEIPT, DAMAGED_OUTPUT = "it has no receipt", "its receipt is damaged", "its output is damaged"


@dataclass(frozen=True)
class Receipt:
    """What was made of a shard.

    ``relative``: the output's path below OUT. ``input``: ``uri`` and ``identity`` of what was read. ``fingerprint``:
    what the content depends on, compared as a whole. ``output``: ``sha256``, ``bytes`` and ``rows`` of the file.
    ``counts``: the run's tallies. ``plan``: digest of the plan it was made under. ``created``: when, UTC, ISO 8601.
    """

    relative: str
    input: dict[str, Any]
    fingerprint: dict[str, Any]
    output: dict[str, Any]
    counts: dict[str, Any]
    plan: str = ""
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def to_json(self) -> dict[str, Any]:
        """The receipt as a JSON object, with a digest of its content."""
        content = normal({"schema": SCHEMA, **asdict(self)})
        return {**content, "digest": digest(content)}

    @classmethod
    def from_json(cls, content: Any) -> Receipt | None:
        """A receipt from its JSON object; ``None`` when it is damaged or of another schema."""
        if not isinstance(content, dict):
            return None
        body = {key: value for key, value in content.items() if key != "digest"}
        try:
            intact = content.get("digest") == digest(body)
        except (ValueError, RecursionError):  # not-a-number, or nested too deeply: no receipt of ours
            return None
        if not intact:
            return None
        if body.get("schema") == 1:
            body = _from_schema_1(body)
        elif body.get("schema") != SCHEMA:
            return None
        if body.keys() != {"schema", *cls.__dataclass_fields__}:
            return None
        texts = (body["relative"], body["plan"], body["created"])
        objects = (body["input"], body["fingerprint"], body["output"], body["counts"])
        if not all(isinstance(t, str) for t in texts) or not all(isinstance(o, dict) for o in objects):
            return None
        del body["schema"]
        return cls(**body)


class Receipts:
    """The receipts and the set-aside shards of one output folder.

    Args:
        holder: who holds the folder; needed by whoever writes or removes, not by whoever only reads.
    """

    def __init__(self, out: Path, holder: Holder | None = None) -> None:
        self._out = out
        self._holder = holder
        self._receipts = out / RECEIPTS
        self._failed = out / FAILED

    def write(self, receipt: Receipt) -> None:
        """Make a shard done. Its output must have its name by now.

        Raises:
            OutputError: the receipt cannot be written.
        """
        atomic_json(self._path(self._receipts, receipt.relative), receipt.to_json(), "receipt", self._holder)

    def read(self, relative: str) -> Receipt | None:
        """The receipt of a shard; ``None`` when there is none or it is damaged."""
        receipt = Receipt.from_json(read_json(self._path(self._receipts, relative)))
        return receipt if receipt is not None and receipt.relative == relative else None

    def remove(self, relative: str) -> None:
        """Make a shard not done."""
        self._remove(self._path(self._receipts, relative))

    def check(self, relative: str, identity: Mapping[str, Any], fingerprint: Mapping[str, Any]) -> Receipt | str:
        """The receipt of a shard that is done, or why it is not.

        Everything must agree: identity of the input, fingerprint, and the output's bytes, SHA-256 and row count.
        """
        receipt = self.read(relative)
        if receipt is None:
            there = self._path(self._receipts, relative).exists()
            return DAMAGED_RECEIPT if there else NO_RECEIPT
        if receipt.fingerprint != (wanted := normal(dict(fingerprint))):
            return "; ".join(_differences(receipt.fingerprint, wanted))
        found = receipt.input.get("identity")
        if found != (wanted := normal(dict(identity))):
            parts = changes(found, wanted) if isinstance(found, dict) else []
            return f"its input changed: {', '.join(part.partition(' ')[0] for part in parts) or 'identity'}"
        return receipt if self.is_intact(receipt) else DAMAGED_OUTPUT

    def agrees(self, relative: str, identity: Mapping[str, Any], fingerprint: Mapping[str, Any]) -> Receipt | None:
        """The receipt of a shard that is done, or ``None``; see :meth:`check`."""
        found = self.check(relative, identity, fingerprint)
        return found if isinstance(found, Receipt) else None

    def is_intact(self, receipt: Receipt) -> bool:
        """Whether a receipt's output is the file that the receipt describes, by its bytes and SHA-256.

        The file is not opened as Parquet: these are the bytes that were read back before the receipt was written. The
        receipt itself must name one number of rows.
        """
        rows, counted = receipt.output.get("rows"), receipt.counts.get("rows", {})
        if type(rows) is not int or (isinstance(counted, dict) and counted.get("in", rows) != rows):
            return False
        return _is_intact(self._out / receipt.relative, receipt.output)

    def all(self) -> Iterator[str]:
        """Relative paths of all shards that have a receipt file, damaged ones included, sorted."""
        yield from _listed(self._receipts)

    def write_failed(self, relative: str, kind: str, message: str, identity: Mapping[str, Any]) -> None:
        """Set a shard aside, with the reason."""
        content = {
            "schema": 1,
            "relative": relative,
            "kind": kind,
            "message": message,
            "identity": dict(identity),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        atomic_json(self._path(self._failed, relative), content, "failed", self._holder)

    def clear_failed(self, relative: str) -> None:
        """Forget that a shard was set aside."""
        self._remove(self._path(self._failed, relative))

    def failed(self) -> dict[str, dict[str, Any]]:
        """Shards set aside, by relative path: ``kind``, ``message``, ``identity``, ``created``. Damaged: empty."""
        found = {relative: read_json(self._path(self._failed, relative)) for relative in _listed(self._failed)}
        return {relative: content if isinstance(content, dict) else {} for relative, content in found.items()}

    def path(self, relative: str) -> Path:
        """Where the receipt of a shard lies, or would."""
        return self._path(self._receipts, relative)

    def _path(self, folder: Path, relative: str) -> Path:
        check_relative(relative)
        return folder / (relative + _SUFFIX)

    def _remove(self, path: Path) -> None:
        if self._holder is not None:
            refuse_links(self._holder.root, path)
        with output_errors("remove", path):
            try:
                path.unlink()
            except (FileNotFoundError, NotADirectoryError):
                return
            crash_point("removed")
            sync_folder(path.parent)


def check_relative(relative: str) -> None:
    """Refuse a path that would not lie below the output folder, or that is the name of one of its own files.

    Raises:
        OutputError: it is absolute, goes up, or has a part that begins with ``_`` or ``.``.
    """
    parts = relative.split("/")
    if relative.startswith("/") or "\0" in relative or any(not part or part[0] in "_." for part in parts):
        raise OutputError(f"{relative!r} is no path of an output: it must lie below the output folder, "
                          "and no part of it may begin with '_' or '.'")  # fmt: skip


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_intact(path: Path, output: Mapping[str, Any]) -> bool:
    try:
        found = path.lstat()
        return (
            stat.S_ISREG(found.st_mode)
            and found.st_size == output.get("bytes")
            and file_sha256(path) == output.get("sha256")
        )
    except OSError:
        return False


def _listed(folder: Path) -> list[str]:
    """Relative paths of the shards that a folder has a file about; hidden names (``._a.json``) are nobody's."""
    found = []
    top = len(str(folder)) + 1
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        base = f"{root[top:]}/" if len(root) > top else ""
        found += [base + name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and not is_hidden(name)]
    return sorted(found)


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """In which parts two fingerprints differ, as ``signature differs: prec int8 → fp32``."""
    found = []
    lines = before.get("signature"), after.get("signature")
    if lines[0] != lines[1]:
        parts = [line_parts(line) if isinstance(line, str) else {} for line in lines]
        found.append(f"signature differs: {', '.join(changes(*parts))}")
    if _UNKNOWN in before:
        return found or ["an earlier version of this program wrote it"]
    for key in sorted({*before, *after} - {"signature"}):
        one, other = before.get(key), after.get(key)
        if one == other or (found and key == _WHOLE):
            continue
        nested = (one, other) if isinstance(one, dict) and isinstance(other, dict) else ({key: one}, {key: other})
        found.append(f"{_NAMES.get(key, key)} differs: {', '.join(changes(*nested))}")
    return found


def _from_schema_1(body: dict[str, Any]) -> dict[str, Any]:
    """A receipt of schema 1 in today's form. Of its fingerprint, a joined string, only the signature can be told."""
    joined = body.pop("signature", None)
    line = joined.partition("|file:")[0] if isinstance(joined, str) else None
    return {**body, "schema": SCHEMA, "fingerprint": {"signature": line, _UNKNOWN: joined}, "plan": ""}
