"""Options, commands and values that other versions had: what to use instead. Add a row for each that goes.

The table is asked only when the program refuses its arguments, so that a row never hides anything that exists.
"""

from __future__ import annotations

from collections.abc import Iterable

GONE = {
    "baseline": "use python -m benchmarks.paper.rivals NAME IN --out F.parquet, in the source repository",
    "export --layer": "leave it out: encoders are not exported any more",
    "config": "`scorer run --help` names the variable of each option; a command says what scorer.toml gave it",
    "run --dry-run": "`scorer plan` with the same IN and options shows what this run would do, and scores nothing",
    "rank": "give each text a row, score with `scorer run`, and choose the best with arg_max (docs/query.md)",
    "gates check": "`scorer gates init` writes gates with what each finds; `scorer audit` says which are silent",
    "audit --reference": "compare with a pinned output: --baseline OUT0",
    "sample --pilot": "draw one sample; `scorer rate` says how wide the intervals are, another --seed draws more rows",
    "sample --width": "use --rows; `scorer rate` says how wide the intervals are",
    "sample --twice": "have both people fill in copies of the file, and compare them",
    "sample --page": "fill in the column label of the CSV file",
    "rate --label-column": "use `scorer evaluate --gold-column` for gold labels of all rows, or --labels",
    "rate --calibration": "label rows of this output: `scorer sample`",
    "rate --save": "use --json",
    "audit --rates": "`scorer rate` prints the true rates; a gate takes the metric's own",
    "--prune": "use --rescore to replace outputs, --allow-stale to keep outputs whose input is gone",
    "run --report": "run `scorer audit OUT --report FILE` when the run is done",
    "extract --where": "extract from a file that has only these rows",
    "quintd": "use python -m benchmarks.paper.spans convert quintd, in the source repository",
    "d2t-eval": "use python -m benchmarks.paper.spans convert d2t-eval, in the source repository",
    "evaluate --spans": "use python -m benchmarks.paper.spans evaluate OUT --spans GOLD, in the source repository",
    "evaluate --against": "use python -m benchmarks.paper against OUT, in the source repository",
    "evaluate --annotations": "use python -m benchmarks.paper ceiling OUT --annotations FILE, in the source repository",
    "evaluate --rivals": "use python -m benchmarks.paper.spans evaluate, in the source repository",
    "challenge --natural": "use python -m benchmarks.paper.challenge natural BUNDLE DIR, in the source repository",
    "challenge --write": "the texts are scorer/embedded/challenge.parquet in the package",
    "challenge --per-kind": "leave it out: the set is scorer/embedded/challenge.parquet, with 200 pairs of each kind",
    "challenge --seed": "leave it out: the set is scorer/embedded/challenge.parquet",
    "--picture": "use --json",
    "--check-numbers": "leave it out: the model reads the numbers of facts and texts",
    "--probes": "leave it out: the built-in pairs verify a bundle",
    "--openlineage": "use `scorer audit OUT --json`",
    "--log-file": "redirect stderr to the file: 2>> FILE",
    "--layout": "leave it out: the device chooses",
    "--join": "use --devices on one machine, --ray on a cluster, or --part K/N in an array job",
    "--lease": "leave it out: a worker without progress for ten minutes is replaced",
    "--mixed-devices": "leave it out: workers whose device differs from the plan's are left out by name",
    "openvino-int8": "use --precision int8",
    "embedded-e2e": "use --bundle embedded",
}
"""By what was given: a command, an option (of one command where that stands in front) or a value."""


def advice(given: Iterable[str], command: str = "") -> str | None:
    """What to use instead of the first of ``given`` that is gone, in one line; ``None`` if none is.

    Args:
        given: the words that were refused.
        command: the name of the command that refused them.
    """
    for word in given:
        for key in (f"{command} {word}", word):
            if key in GONE:
                return f"{word} is gone; {GONE[key]}"
    return None
