"""Public sets with gold labels, in one form, and samples of their rows that depend on the ids of the rows alone.

Columns of every set: ``id``; ``input``, which texts about the same facts share; ``triples``; ``text``; ``gold_rough``;
``gold_omission``, a Boolean, null where the gold does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError, UsageError
from scorer.evaluation.challenge_set import CHALLENGE, TEMPLATES
from scorer.metric import Sides
from scorer.metric.sentences import split_text
from scorer.metric.verdict import FINE

SEED = "benchmarks.quality"
E2E, E2E_TEMPLATES = "public/e2e_primary.parquet", "public/templates/nlgi_eval_e2e_templates.json"
WEBNLG_TEMPLATES = "public/templates/nlgi_eval_webnlg_templates.json"
DOMAINS = ("wikidata", "ice_hockey", "gsmarena", "openweather", "owid")
TRIPLES = pa.list_(pa.struct([(part, pa.string()) for part in ("subject", "predicate", "object")]))
SCHEMA = pa.schema(
    [
        ("id", pa.string()), ("input", pa.string()), ("triples", TRIPLES), ("text", pa.string()),
        ("gold_rough", pa.string()), ("gold_omission", pa.bool_()),
    ]
)  # fmt: skip
Row = dict[str, Any]


@dataclass(frozen=True)
class LabelledSet:
    """A set of rows with gold labels."""

    file: str
    """File below the folder of the evaluation data, or the path of a file that ships."""
    read: Callable[[Iterable[Row]], Iterable[Row]]
    """Rows of the file to rows of the form above."""
    templates: str | None = None
    """Template file, as ``file``; ``None`` for backoff."""
    checks: Sides = "both"
    """Sides that the gold is about."""

    def rows(self, data: Path) -> pa.Table:
        """All rows of the set, in the order of the file."""
        return pa.Table.from_pylist(list(self.read(read_file(data / self.file).to_pylist())), SCHEMA)

    def options(self, data: Path) -> dict[str, Any]:
        """Options of a :class:`scorer.Scorer`."""
        return {"templates": None if self.templates is None else data / self.templates, "checks": self.checks}


def read_file(path: Path) -> pa.Table:
    """A Parquet file of the evaluation data.

    Raises:
        InputError: it does not exist.
    """
    if not path.is_file():
        raise InputError(f"the evaluation data has no {path}; pass its folder with --data")
    return pq.read_table(path)


def sample(table: pa.Table, rows: int) -> pa.Table:
    """At most ``rows`` rows, those whose id has the smallest hash, in the order of the table."""
    hashes = [sha256(f"{SEED} {name}".encode()).digest() for name in table["id"].to_pylist()]
    order = sorted(range(len(table)), key=hashes.__getitem__)
    return table.take(sorted(order[:rows]))


def _e2e(rows: Iterable[Row]) -> Iterable[Row]:
    for row in rows:
        yield row | {"input": row["mr"], "gold_omission": "omission" in row["gold_fine"]}


def _webnlg17(rows: Iterable[Row]) -> Iterable[Row]:
    """The gold is a rating, which names no side."""
    return (row | {"input": row["mr"]} for row in rows)


def _challenge(rows: Iterable[Row]) -> Iterable[Row]:
    """The distinct base and edited texts of several sentences, without a side where either counts as right."""
    seen = set()
    for row in rows:
        several = row["variant"] in ("base", "edited") and len(split_text(row["text"])) > 1
        key = str(row["triples"]), row["text"]
        if not several or key in seen:
            continue
        seen.add(key)
        gold = row["gold_fine"]
        yield row | {
            "id": f"{row['pair']}-{row['variant']}", "input": str(row["pair"]),
            "gold_rough": "OK" if gold == FINE[0] else "not_OK",
            "gold_omission": None if gold == FINE[-1] else "omission" in gold,
        }  # fmt: skip


def _factspotter(rows: Iterable[Row]) -> Iterable[Row]:
    """One fact a row, which the text says or not; the text says further facts of its graph."""
    for number, row in enumerate(rows):
        names = {"id": f"{row['dataset']}-{number}", "input": row["graph_mr"]}
        gold = {"gold_rough": "OK" if row["label"] == 1 else "not_OK", "gold_omission": row["label"] == 0}
        yield row | names | gold


def _quintd(domain: str) -> Callable[[Iterable[Row]], Iterable[Row]]:
    def read(rows: Iterable[Row]) -> Iterable[Row]:
        """A text is OK where people marked no span, whatever its type, and has an omission where the first annotator
        checked *is missing*."""
        for row in rows:
            if row["domain"] == domain:
                flags = row["human_flags_by_annotator"]
                yield row | {
                    "input": str(row["example_idx"]),
                    "gold_rough": "not_OK" if row["human_spans"] else "OK",
                    "gold_omission": flags[0]["is_missing"] if flags else None,
                }

    return read


SETS: dict[str, LabelledSet] = {
    "e2e": LabelledSet(E2E, _e2e, E2E_TEMPLATES),
    "webnlg17": LabelledSet("public/webnlg17_humeval.parquet", _webnlg17, WEBNLG_TEMPLATES),
    "challenge": LabelledSet(str(CHALLENGE), _challenge, str(TEMPLATES)),
    "factspotter": LabelledSet("public/factspotter_webnlg_cls.parquet", _factspotter, WEBNLG_TEMPLATES),
    **{
        domain: LabelledSet("quintd/quintd_public.parquet", _quintd(domain), checks="hallucination")
        for domain in DOMAINS
    },
}
"""By name; those of Quintd have the names of its domains."""


def chosen_sets(names: Iterable[str], default: Iterable[str]) -> dict[str, LabelledSet]:
    """Sets by their names, or the default ones.

    Raises:
        UsageError: an unknown name.
    """
    names = list(names) or list(default)
    if unknown := [name for name in names if name not in SETS]:
        raise UsageError(f"no set {unknown[0]!r}; the sets are {', '.join(SETS)}")
    return {name: SETS[name] for name in names}
