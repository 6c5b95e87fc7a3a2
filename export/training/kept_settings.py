"""The settings of a training run, kept in its folder, so that a continued run has the same ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def agree(out: Path, settings: dict[str, object]) -> None:
    """Keeps the settings of a run in `out`, and refuses to continue it under others."""
    path = out / "settings.json"
    if not path.exists():
        path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    before = json.loads(path.read_text(encoding="utf-8"))
    changed = [f"{name} {before.get(name)} → {value}" for name, value in settings.items() if before.get(name) != value]
    if changed:
        sys.exit(f"{out} holds a run under other settings ({', '.join(changed)}); use those, or another --out")
