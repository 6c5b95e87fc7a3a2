"""What one has to read to follow a run: `make trace`, or `python tests/trace.py`.

Prints the functions of the package that `scorer run` calls for the sample that ships, in all its processes, in the
order of their first call, and counts the import closure of a run and the imports of each module.
tests/test_shape.py bounds these figures.
"""

from __future__ import annotations

import ast
import collections.abc
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOTS_OF_A_RUN = ("scorer.run.driver", "scorer.run.processes", "scorer.run.worker")
"""The driver, the processes and the worker. The worker is started with `-m`, which is no import."""

# Runs in every process, before the program. A process may end by os._exit: each new function is written at once.
HOOK = '''
import os, sys, threading

PACKAGE = os.environ["TRACED_PACKAGE"]
OUT = os.open(os.path.join(os.environ["TRACE_FOLDER"], str(os.getpid())), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
SEEN = set()


def importing(frame):
    """True inside the first execution of a module of the package, unless it is the program itself."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(PACKAGE):
            return frame.f_globals.get("__name__") != "__main__"
        frame = frame.f_back
    return False


def profile(frame, event, argument):
    code = frame.f_code
    if event != "call" or code in SEEN or not code.co_filename.startswith(PACKAGE):
        return
    if code.co_name.startswith("<") or not code.co_flags & 1 or importing(frame.f_back):
        return
    SEEN.add(code)
    os.write(OUT, f"{code.co_filename[len(PACKAGE):]}\\t{code.co_qualname}\\n".encode())


threading.setprofile(profile)
sys.setprofile(profile)
'''


class Call(NamedTuple):
    """A function of the package that was called: its file below the package, and its qualified name."""

    file: str
    function: str


def trace(arguments: list[str], root: Path = ROOT) -> dict[str, list[Call]]:
    """Functions that `scorer ARGUMENTS` calls, by process id, in the order of their first call.

    Functions that run while a module is imported, lambdas and comprehensions are left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text(HOOK)
        calls = Path(folder) / "calls"
        calls.mkdir()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([folder, str(root)]),
            "TRACED_PACKAGE": f"{root / 'scorer'}{os.sep}",
            "TRACE_FOLDER": str(calls),
        }
        subprocess.run(
            [sys.executable, "-m", "scorer", *arguments], cwd=root, env=environment, check=True, capture_output=True
        )
        by_process = {
            one.name: [Call(*line.split("\t")) for line in one.read_text().splitlines()] for one in calls.iterdir()
        }
    return {process: found for process, found in sorted(by_process.items(), key=lambda item: int(item[0])) if found}


def trace_of_the_sample(root: Path = ROOT) -> dict[str, list[Call]]:
    """The trace of a run of the sample that ships, as it is on a machine where the model was used before."""
    with tempfile.TemporaryDirectory() as folder:
        sample = root / "scorer" / "embedded" / "domains.parquet"
        command = ["run", str(sample), "--bundle", "embedded", "--device", "cpu", "--out"]
        trace([*command, f"{folder}/first"], root)
        return trace([*command, f"{folder}/second"], root)


class Module(NamedTuple):
    """A module of the package: its lines, and the modules of the package that it imports anywhere in its text."""

    lines: int
    imports: frozenset[str]


def modules(root: Path = ROOT, packages: tuple[str, ...] = ("scorer",)) -> dict[str, Module]:
    """Every module below the packages of a checkout, by its dotted name."""
    files = {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for package in packages
        for file in sorted((root / package).rglob("*.py"))
    }
    made = {}
    for name, file in files.items():
        text = file.read_text()
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        imported = {target for target in _imported(ast.parse(text), package, files.keys()) if target != name}
        made[name] = Module(len(text.splitlines()), frozenset(imported))
    return made


def _imported(tree: ast.Module, package: str, known: collections.abc.KeysView[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                inside = f"{base}.{alias.name}"
                yield from (one for one in ([inside] if inside in known else [base] if base in known else []))


def closure(found: dict[str, Module], roots: tuple[str, ...] = ROOTS_OF_A_RUN) -> set[str]:
    """The modules that can be reached from the roots by imports, with the roots."""
    reached = {root for root in roots if root in found}
    todo = list(reached)
    while todo:
        for name in found[todo.pop()].imports - reached:
            reached.add(name)
            todo.append(name)
    return reached


def main() -> None:
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    calls = trace_of_the_sample(root)
    for number, (_, functions) in enumerate(calls.items(), 1):
        print(f"process {number} of {len(calls)}")
        place = None
        for call in functions:
            if call.file != place:
                print(f"  {call.file}")
            place = call.file
            print(f"    {call.function}")
    distinct = {call for functions in calls.values() for call in functions}
    print(f"\n{len(distinct)} functions in {len({call.file for call in distinct})} files, {len(calls)} processes")
    found = modules(root)
    reached = closure(found)
    print(f"import closure of a run: {len(reached)} modules, {sum(found[name].lines for name in reached):,} lines")
    most = max(found, key=lambda name: len(found[name].imports))
    print(f"most imports of our own: {len(found[most].imports)}, by {most}")
    print(f"scorer: {len(found)} modules, {sum(module.lines for module in found.values()):,} lines")


if __name__ == "__main__":
    main()
