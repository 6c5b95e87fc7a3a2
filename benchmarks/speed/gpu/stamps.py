"""`scorer run` with the times of its stages, the program unchanged: `stamps ROWS OUT BUNDLE DEVICE`.

A line for each process: seconds from the start of the command to the end of each stage, and the stage's own. A stage
is a function of the program; one that the program does not have is left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STAGES = (
    "scorer.run.driver:run", "scorer.run.executors:Processes.inspect", "scorer.run.executors:Processes.open",
    "scorer.inference.bundle:Bundle.variant", "scorer.inference.session:resolve_device",
    "scorer.inference.session:create_session", "scorer.inference.engine:Engine.open",
    "scorer.inference.tokenizer:TextTokenizer.__init__", "scorer.inference.engine:Engine.encode",
    "scorer.inference.engine:Engine.predict", "scorer.storage.shards:read_shards",
    "scorer.storage.output_folder:OutputFolder.publish", "scorer.storage.output_folder:OutputFolder.finish",
)  # fmt: skip
HOOK = """
import functools, importlib.util, json, os, sys, time

BEGAN = float(os.environ["D2T_STAMPS_BEGAN"])
STAGES = [tuple(pair.split(":")) for pair in os.environ["D2T_STAMPS"].split(";")]
FILE = os.open(os.environ["D2T_BENCH_RESULTS"], os.O_APPEND | os.O_CREAT | os.O_WRONLY)


def write(what, seconds):
    stamp = {"step": "stamp", "process": os.getpid(), "what": what, "at": round(time.time() - BEGAN, 3)}
    os.write(FILE, (json.dumps(stamp | {"seconds": round(seconds, 3)}) + "\\n").encode())


def timed(function, name):
    @functools.wraps(function)
    def call(*arguments, **options):
        began = time.time()
        try:
            return function(*arguments, **options)
        finally:
            write(name, time.time() - began)

    return call


def wrap(module, qualified):
    *owners, last = qualified.split(".")
    owner = module
    for one in owners:
        owner = getattr(owner, one, None)
    kept = None if owner is None else vars(owner).get(last)
    if isinstance(kept, classmethod):
        setattr(owner, last, classmethod(timed(kept.__func__, qualified)))
    elif callable(kept):
        setattr(owner, last, timed(kept, qualified))


class Finder:
    def find_spec(self, name, path=None, target=None):
        stages = [qualified for module, qualified in STAGES if module == name]
        if not stages:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            for qualified in stages:
                wrap(module, qualified)

        spec.loader.exec_module = exec_module
        return spec


write("interpreter", 0)
sys.meta_path.insert(0, Finder())
"""
"""Runs in every process of the command before the program: wraps each stage when its module is imported."""


def main(rows: str, out: str, bundle: str, device: str) -> int:
    """Run the command once; its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text(HOOK)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]),
            "D2T_STAMPS": ";".join(STAGES),
            "D2T_STAMPS_BEGAN": str(time.time()),
        }
        command = [sys.executable, "-m", "scorer", "run", rows, "--out", out, "--bundle", bundle, "--device", device]
        return subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
