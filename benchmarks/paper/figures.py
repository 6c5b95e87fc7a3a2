"""The commands behind the sections of ``docs/figures.md`` about public data: inputs, runs and reports.

A step is a command; its inputs are files of the evaluation data, or outputs of steps before it. All files of the data
that the chosen sections read are looked for before the first step.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from scorer.errors import InputError, ScorerError, UsageError

_SCORER, _RIVALS, _SPANS, _PAPER = (
    f"{{python}} -m {module}"
    for module in ("scorer", "benchmarks.paper.rivals", "benchmarks.paper.spans", "benchmarks.paper")
)
_RUN = f"{_SCORER} run {{data}}/{{file}} --bundle {{bundle}} --max-error-rate 1 --out {{out}}/{{name}}"


def _run(name: str, file: str, options: str = "") -> str:
    return _RUN.replace("{file}", file).replace("{name}", name) + options


SECTIONS: Mapping[str, tuple[str, ...]] = {
    "e2e-gold": (
        _run("e2e", "public/e2e_primary.parquet"),
        f"{_PAPER} against {{out}}/e2e",
        *(
            f"{_RIVALS} {rival} {{data}}/public/e2e_primary.parquet --out {{out}}/{rival}.parquet"
            for rival in ("keywords", "e2e-slots")
        ),
        *(f"{_SCORER} evaluate {{out}}/{rival}.parquet --full" for rival in ("keywords", "e2e-slots")),
    ),
    "webnlg17": (
        _run("webnlg17", "public/webnlg17_humeval.parquet", " --templates {webnlg_templates}"),
        f"{_PAPER} against {{out}}/webnlg17",
        f"{_RIVALS} overlap {{out}}/webnlg17 --out {{out}}/overlap17.parquet",
        f"{_RIVALS} entities {{out}}/overlap17.parquet --out {{out}}/all17.parquet",
        f"{_SCORER} evaluate {{out}}/all17.parquet --exclude-system webnlg --human human_semantics --metric all",
    ),
    "webnlg20": (
        _run("webnlg20", "public/webnlg20_humeval.parquet", " --templates {webnlg_templates}"),
        f"{_RIVALS} overlap {{out}}/webnlg20 --out {{out}}/overlap20.parquet",
        f"{_RIVALS} entities {{out}}/overlap20.parquet --out {{out}}/all20.parquet",
        f"{_SCORER} evaluate {{out}}/all20.parquet --metric all",
        f"{_PAPER} ceiling {{out}}/all20.parquet --annotations {{data}}/public/webnlg20_humeval_raw.parquet",
    ),
    "basketball": (
        _run(
            "st",
            "public/st_texts.parquet",
            " --templates docs/boxscore-templates.json --checks hallucination --sentences",
        ),
        f"{_SPANS} evaluate {{out}}/st --spans {{data}}/public/st_gold_errors.parquet "
        "--annotations {data}/public/tr_annotations.parquet",
    ),
    "quintd": (
        f"{_SPANS} convert quintd {{data}}/quintd/quintd_public.parquet --out {{out}}/quintd.parquet "
        "--spans {out}/quintd-spans.parquet --judge-spans {out}/quintd-judges.parquet",
        _run("quintd", "", " --checks hallucination --sentences").replace("{data}/", "{out}/quintd.parquet"),
        f"{_SPANS} evaluate {{out}}/quintd --spans {{out}}/quintd-spans.parquet "
        "--rivals {out}/quintd-judges.parquet --by domain --input-column example",
    ),
    "d2t-eval": (
        f"{_SPANS} convert d2t-eval {{data}}/field/d2teval_test.parquet --out {{out}}/d2teval.parquet "
        "--spans {out}/d2teval-spans.parquet --judge-spans {out}/d2teval-judges.parquet",
        _run("d2teval", "", " --checks hallucination --sentences").replace("{data}/", "{out}/d2teval.parquet"),
        f"{_SPANS} evaluate {{out}}/d2teval --spans {{out}}/d2teval-spans.parquet "
        "--rivals {out}/d2teval-judges.parquet --by domain --input-column example",
    ),
    "challenge": (
        f"{_SCORER} challenge {{bundle}}",
        "{python} -m benchmarks.paper.challenge natural {bundle} {data}/field",
        *(f"{{python}} -m benchmarks.paper.challenge rival {rival}" for rival in ("keywords", "e2e-slots")),
    ),
}


def commands(sections: Iterable[str], data: Path, bundle: str, out: Path) -> list[list[str]]:
    """The commands of sections, once all files of the data that they read are there.

    Raises:
        UsageError: an unknown section. InputError: a file is missing; all missing files are named.
    """
    places = {
        "python": sys.executable, "data": str(data), "bundle": bundle, "out": str(out),
        "webnlg_templates": str(data / "public/templates/nlgi_eval_webnlg_templates.json"),
    }  # fmt: skip
    found: list[list[str]] = []
    for section in sections:
        if section not in SECTIONS:
            raise UsageError(f"no section {section!r}; the sections are {', '.join(SECTIONS)}")
        found += [[word.format(**places) for word in shlex.split(step)] for step in SECTIONS[section]]
    read = {Path(word) for command in found for word in command if word.startswith(f"{data}/")}
    missing = sorted(str(path) for path in read if not path.exists())
    if missing:
        raise InputError(f"the evaluation data has no {', '.join(missing)}; pass --data, or leave out their sections")
    return found


def run(steps: Iterable[list[str]], say: Callable[[str], None]) -> None:
    """Run commands one after the other; finished runs are not repeated.

    Raises:
        ScorerError: a command failed; it has said why.
    """
    for step in steps:
        say(shlex.join(step[1:]))
        ended = subprocess.run(step, check=False).returncode
        if ended:
            raise ScorerError(f"{shlex.join(step[1:])} ended with {ended}; see its messages above")
