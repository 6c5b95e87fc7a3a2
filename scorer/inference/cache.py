"""What was learned of a variant on a device, in the user's cache folder.

An entry is named by all that its content depends on; one that is not there, or not readable, is measured again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from .engine import Engine
from .sessions import runtime


def entry(engine: Engine, kind: str, *what: object) -> Path:
    """The file of an entry: by bundle, variant, device, runtime version and threads, and by what more is given."""
    base = _folder() / "d2t-scorer"
    parts = [engine.device, engine.device.name, runtime().__version__, engine.threads, kind, *what]
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:12]
    return base / f"{engine.bundle.sha256[:12]}-{engine.precision}-{kind}-{digest}.json"


def _folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(given) if given else Path.home() / ".cache"
    except RuntimeError:  # a user without a home folder: nothing can be kept, as where the folder cannot be written
        return Path(os.devnull)


def read(path: Path) -> dict[str, Any]:
    """The content of an entry; empty where there is none that can be read."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def write(path: Path, content: dict[str, Any]) -> None:
    """Keep an entry, if the folder can be written: without it every start measures, which is slower and as right."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(content))
        temporary.replace(path)
    except OSError:
        pass
