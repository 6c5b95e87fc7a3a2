"""The commands behind the sections of ``docs/figures.md`` about public data: inputs, runs and reports."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from scorer.errors import InputError, ScorerError, UsageError

_RUN = "scorer run {} --bundle {{bundle}} --max-error-rate 1 --out {{out}}/{}"
_PAPER, _SPANS = "benchmarks.paper", "benchmarks.paper.spans"
_BASKETBALL = "--templates docs/boxscore-templates.json --checks hallucination --sentences"


def _rated(year: int, evaluate: str) -> tuple[str, ...]:
    return (
        _RUN.format(f"{{data}}/public/webnlg{year}_humeval.parquet", f"webnlg{year}")
        + " --templates {webnlg_templates}",
        f"{_PAPER}.rivals overlap {{out}}/webnlg{year} --out {{out}}/overlap{year}.parquet",
        f"{_PAPER}.rivals entities {{out}}/overlap{year}.parquet --out {{out}}/all{year}.parquet",
        f"scorer evaluate {{out}}/all{year}.parquet {evaluate} --metric all",
    )


def _with_spans(corpus: str, source: str) -> tuple[str, ...]:
    spans, judges = f"{{out}}/{corpus}-spans.parquet", f"{{out}}/{corpus}-judges.parquet"
    rows = f"{{out}}/{corpus}.parquet"
    return (
        f"{_SPANS} convert {corpus} {{data}}/{source} --out {rows} --spans {spans} --judge-spans {judges}",
        _RUN.format(rows, corpus) + " --checks hallucination --sentences",
        f"{_SPANS} evaluate {{out}}/{corpus} --spans {spans} --rivals {judges} --by domain --input-column example",
    )


SECTIONS: Mapping[str, tuple[str, ...]] = {
    "e2e-gold": (
        _RUN.format("{data}/public/e2e_primary.parquet", "e2e"),
        f"{_PAPER} against {{out}}/e2e",
        f"{_PAPER}.rivals keywords {{data}}/public/e2e_primary.parquet --out {{out}}/keywords.parquet",
        f"{_PAPER}.rivals e2e-slots {{data}}/public/e2e_primary.parquet --out {{out}}/e2e-slots.parquet",
        "scorer evaluate {out}/keywords.parquet --full",
        "scorer evaluate {out}/e2e-slots.parquet --full",
    ),
    "webnlg17": (
        *_rated(17, "--exclude-system webnlg --human human_semantics"),
        f"{_PAPER} against {{out}}/webnlg17",
    ),
    "webnlg20": (
        *_rated(20, ""),
        f"{_PAPER} ceiling {{out}}/all20.parquet --annotations {{data}}/public/webnlg20_humeval_raw.parquet",
    ),
    "basketball": (
        _RUN.format("{data}/public/st_texts.parquet", "st") + f" {_BASKETBALL}",
        f"{_SPANS} evaluate {{out}}/st --spans {{data}}/public/st_gold_errors.parquet "
        "--annotations {data}/public/tr_annotations.parquet",
    ),
    "quintd": _with_spans("quintd", "quintd/quintd_public.parquet"),
    "d2t-eval": _with_spans("d2t-eval", "field/d2teval_test.parquet"),
    "challenge": (
        "scorer challenge {bundle}",
        f"{_PAPER}.challenge natural {{bundle}} {{data}}/field",
        f"{_PAPER}.challenge rival keywords",
        f"{_PAPER}.challenge rival e2e-slots",
    ),
}
"""By name, the modules to run with their arguments."""


def commands(sections: Iterable[str], data: Path, bundle: str, out: Path) -> list[list[str]]:
    """The commands of sections; an InputError that names all files of the data that are missing."""
    templates = str(data / "public/templates/nlgi_eval_webnlg_templates.json")
    places = {"data": str(data), "bundle": bundle, "out": str(out), "webnlg_templates": templates}
    found: list[list[str]] = []
    for section in sections:
        if section not in SECTIONS:
            raise UsageError(f"no section {section!r}; the sections are {', '.join(SECTIONS)}")
        words = ([word.format(**places) for word in shlex.split(step)] for step in SECTIONS[section])
        found += [[sys.executable, "-m", *step] for step in words]
    read = {Path(word) for command in found for word in command if word.startswith(f"{data}/")}
    missing = sorted(str(path) for path in read if not path.exists())
    if missing:
        raise InputError(f"the evaluation data has no {', '.join(missing)}; pass --data, or leave out their sections")
    return found


def run(steps: Iterable[list[str]], say: Callable[[str], None]) -> None:
    """Run commands one after the other, until one fails; finished runs are not repeated."""
    for step in steps:
        say(shlex.join(step[1:]))
        ended = subprocess.run(step, check=False).returncode
        if ended:
            raise ScorerError(f"{shlex.join(step[1:])} ended with {ended}; see its messages above")
