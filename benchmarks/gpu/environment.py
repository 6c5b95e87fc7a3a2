"""The environments of the processes, ours and the peers', where nothing of the project is installed."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environments(kit: Path | None) -> tuple[dict[str, str], dict[str, str]]:
    """Environments of our processes and of the peers': the same, but for the kit on PYTHONPATH."""
    base = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true", "TRANSFORMERS_VERBOSITY": "error"}
    others = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if kit is not None:
        others = [p for p in others if Path(p).resolve() != kit.resolve()]
    peers = [str(ROOT), *others]
    ours = [*([str(kit.resolve())] if kit is not None else []), *peers]
    return base | {"PYTHONPATH": os.pathsep.join(ours)}, base | {"PYTHONPATH": os.pathsep.join(peers)}


def source_tree(base: Path) -> str:
    """A folder for PYTHONPATH that says to ``importlib.metadata`` which version the source tree is, where the package
    is not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = base / "source-tree"
    info = folder / f"d2t_scorer-{project['version']}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: d2t-scorer\nVersion: {project['version']}\n")
    return str(folder.resolve())
