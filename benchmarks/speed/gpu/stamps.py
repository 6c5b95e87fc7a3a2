"""`scorer run` with the times of its stages, the program unchanged: `stamps ROWS OUT BUNDLE DEVICE`.

A line for each stage of each process: seconds from the start of the command to the end of the stage, and its own. A
stage is a function of the program, wrapped when its module is imported: Python imports ``sitecustomize`` before
the program in every process of the command.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .steps import RESULTS

STAGES = (
    "scorer.run.driver:run", "scorer.run.processes:Processes.inspect", "scorer.run.processes:Processes.open",
    "scorer.inference.bundle:Bundle.variant", "scorer.inference.session:resolve_device",
    "scorer.inference.session:create_session", "scorer.inference.verification:open_engine",
    "scorer.inference.tokenizer:TextTokenizer.__init__", "scorer.inference.engine:Engine.encode",
    "scorer.inference.engine:Engine.predict", "scorer.storage.shards:read_shards",
    "scorer.storage.output_folder:LockedOutput.publish", "scorer.storage.locked_output:LockedOutput.finish",
)  # fmt: skip
_BEGAN = "D2T_STAMPS_BEGAN"
"""The variable with the start of the command, in seconds."""


def install() -> None:
    """Let the stages of this process be timed."""
    _write("interpreter", 0)
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Wraps the stages of a module after it was imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        stages = [qualified for module, qualified in (stage.split(":") for stage in STAGES) if module == name]
        if not stages:
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]  # no Loader is needed
        try:
            spec: Any = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            for qualified in stages:
                _wrap(module, qualified)

        spec.loader.exec_module = exec_module
        return spec


def _wrap(module: Any, qualified: str) -> None:
    *owners, name = qualified.split(".")
    owner = functools.reduce(lambda found, part: getattr(found, part, None), owners, module)
    kept = getattr(owner, "__dict__", {}).get(name)
    if kept is None:
        return _write(f"{qualified} is not in the program", 0)
    timed = _timed(getattr(kept, "__func__", kept), qualified)
    setattr(owner, name, classmethod(timed) if isinstance(kept, classmethod) else timed)


def _timed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        began = time.time()
        try:
            return function(*arguments, **options)
        finally:
            _write(name, time.time() - began)

    return call


def _write(name: str, seconds: float) -> None:
    stamp = {"step": "stamp", "process": os.getpid(), "what": name, "at": time.time() - float(os.environ[_BEGAN])}
    with Path(os.environ[RESULTS]).open("a") as file:
        file.write(json.dumps(stamp | {"seconds": round(seconds, 3)}) + "\n")


def main(rows: str, out: str, bundle: str, device: str) -> int:
    """Run the command once; its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text(f"from {__spec__.name} import install\n\ninstall()\n")
        path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, _BEGAN: str(time.time())}
        command = [sys.executable, "-m", "scorer", "run", rows, "--out", out, "--bundle", bundle, "--device", device]
        return subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
