"""What was learned of a variant on a device, in the user's cache folder.

An entry is named by all that its content depends on; one that is not there, or not readable, is measured again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..errors import DamagedFileError, SchemaError
from ..system.codec import Record, decode, encode
from ..system.files import read_small
from .bundle import Bundle
from .devices import Device
from .execution import Execution
from .sessions import runtime

LARGEST = 1 << 16
"""Bytes of an entry; real ones have a few hundred."""


class Entry(Record, frozen=True, kw_only=True):
    """Base of what is kept."""

    schema: int = 1


E = TypeVar("E", bound=Entry)
_UNWRITTEN: dict[Path, Entry] = {}
"""What this process learned and could not write: it is not measured twice in one process."""


@dataclass(frozen=True)
class Use:
    """A variant of a bundle on a device, with so many threads where it computes with those of this process.

    ``options``: of the provider, besides those of the device's row; they choose kernels, and so the last bits.
    ``device_memory``: GiB of the device that a session may take, 0 for all; no number depends on it.
    """

    bundle: Bundle
    variant: str
    device: Device
    threads: int
    options: Mapping[str, str] = field(default_factory=dict)
    device_memory: int = 0

    @property
    def precision(self) -> str:
        """The variant's precision."""
        return self.bundle.variants[self.variant].precision

    @property
    def layout(self) -> str:
        """The variant's layout."""
        return self.bundle.variants[self.variant].layout

    @property
    def attention(self) -> str:
        """The operator and the options of its attention, see :mod:`.execution`."""
        return Execution(
            self.variant, self.layout, self.bundle.variants[self.variant].attention, self.options
        ).attention

    def __str__(self) -> str:
        return f"{self.bundle.name} {self.variant} on {self.device}"


def entry(use: Use, kind: str, *what: int | str) -> Path:
    """The file of an entry: by bundle, variant, kind of hardware, versions and options, and by what more is given.

    Devices of one name, driver and cuDNN compute the same, so several GPUs of one machine share entries.

    All of it by whole digests of one encoding: an entry says that a bundle was tried, and must be no other's.
    """
    import tokenizers

    on = use.device
    parts = [
        on.kind,
        on.hardware.name or str(on),
        on.hardware.numbers,
        use.threads if on.row.computes_on_host else 0,
        sorted(use.options.items()),
        use.bundle.variants[use.variant].sha256,
        str(runtime().__version__),
        str(tokenizers.__version__),
        kind,
        *what,
    ]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return cache_folder() / f"{use.bundle.sha256}-{use.variant}-{kind}-{digest}.json"


def read(path: Path, kind: type[E]) -> E | None:
    """The content of an entry; ``None`` where there is none, or none of this kind and schema that can be decoded."""
    try:
        return decode(read_small(path, LARGEST), kind, path.name)
    except (OSError, ValueError, DamagedFileError, SchemaError):
        kept = _UNWRITTEN.get(path)
        return kept if isinstance(kept, kind) else None


def write(path: Path, content: Entry) -> str | None:
    """Keep an entry, if the folder can be written; otherwise every start measures again, with the same result.

    Returns why it cannot be kept beyond this process, for people; ``None`` where it is.
    """
    temporary = path.with_name(f".{path.stem[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(encode(content))
        temporary.replace(path)
        _UNWRITTEN.pop(path, None)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        _UNWRITTEN[path] = content
        return (
            f"the result cannot be kept in {path.parent} ({error.strerror}), so that every start verifies again; set "
            "XDG_CACHE_HOME to a folder that can be written"
        )
    return None


def cache_folder() -> Path:
    """The folder of this program below ``XDG_CACHE_HOME``, or ``~/.cache``; it may not exist, or be removed."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home and no entry in passwd: nothing can be written below this path
        base = Path(os.devnull)
    return base / "d2t-scorer"
