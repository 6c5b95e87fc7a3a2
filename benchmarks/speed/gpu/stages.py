"""`scorer run` with the times of its stages, the program unchanged: `stages ROWS OUT BUNDLE DEVICE`.

A line for each stage of each process: seconds from the start of the command to the end of the stage, and its own. A
stage is a function of the program, wrapped when its module is imported: Python imports ``sitecustomize`` before the
program in every process of the command.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from .steps import write

STAGES = {
    "scorer.run.driver": ("run",),
    "scorer.storage.shards": ("read_shards",),
    "scorer.inference.bundle": ("Bundle.variant",),
    "scorer.inference.session": ("resolve_device", "create_session"),
    "scorer.inference.tokenizer": ("TextTokenizer.__init__",),
    "scorer.inference.engine": ("Engine.__init__", "Engine.encode", "Engine.predict"),
}
"""Functions by module."""
_BEGAN = "D2T_STAGES_BEGAN"
"""The variable with the start of the command, in seconds."""


def install() -> None:
    """Have the stages of this process timed."""
    _tell("interpreter", 0)
    sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]  # it loads nothing itself


class _Finder:
    """Wraps the stages of a module after its import."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec: Any = PathFinder.find_spec(name, path) if name in STAGES else None
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                for stage in STAGES[name]:
                    _wrap(module, stage)

            spec.loader.exec_module = exec_module
        return spec


def _wrap(module: Any, stage: str) -> None:
    owner, _, name = stage.rpartition(".")
    place = getattr(module, owner, None) if owner else module
    function = getattr(place, name, None)
    if function is None:
        _tell(f"{stage} is not in the program", 0)
    else:
        setattr(place, name, _timed(function, stage))


def _timed(function: Callable[..., Any], stage: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        began = time.time()
        try:
            return function(*arguments, **options)
        finally:
            _tell(stage, time.time() - began)

    return call


def _tell(stage: str, seconds: float) -> None:
    at = time.time() - float(os.environ[_BEGAN])
    write("stage", process=os.getpid(), of=stage, at=round(at, 3), seconds=round(seconds, 3))


def main(rows: str, out: str, bundle: str, device: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text(f"from {__spec__.name} import install\n\ninstall()\n")
        path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, _BEGAN: str(time.time())}
        command = [sys.executable, "-m", "scorer", "run", rows, "--out", out, "--bundle", bundle, "--device", device]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
