"""Scored nights made by hand: rows with probabilities, as finished outputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document
from tests.run.calls import STRUCT, scorer
from tests.scored_outputs import SIGNATURE as SIGNATURE
from tests.scored_outputs import finish, scored

Row = dict[str, Any]
command = scorer


def row(
    text: str | None = "a text",
    facts: Sequence[tuple[str, float]] = (("food", 0.9),),
    said: float = 0.9,
    subject: str | None = None,
    error: str | None = None,
    **more: Any,
) -> Row:
    """A row. ``facts``: predicate and P(entailment) each; ``said``: P(entailment) of facts → text. ``subject``: of the
    facts; by default another one for each text, so that no two texts share an input."""
    subject = f"X of {text}" if subject is None else subject
    return {"text": text, "facts": list(facts), "said": said, "subject": subject, "error": error, **more}


def of_system(bad: int, count: int, system: str | None, start: int = 0, **more: Any) -> list[Row]:
    """``count`` rows of a system, the first ``bad`` of them omissions; rows of another ``start`` have other texts."""
    more |= {} if system is None else {"system": system}
    return [row(f"{system} {start + i}", [("food", 0.2 if i < bad else 0.8)], **more) for i in range(count)]


def table(rows: Sequence[Row], triples: str = "struct") -> pa.Table:
    """Rows with the output columns. ``triples``: ``struct`` or ``strings``, how the facts are spelled."""
    own = {"text", "facts", "said", "subject", "error"}
    columns: dict[str, Any] = {name: [r[name] for r in rows] for name in (rows[0] if rows else {}) if name not in own}
    columns["text"] = pa.array([r["text"] for r in rows], pa.string())
    facts = [[(r["subject"], p, f"o{i}") for i, (p, _) in enumerate(r["facts"])] for r in rows]
    if triples == "strings":
        columns["triples"] = pa.array([[" | ".join(f) for f in one] for one in facts], pa.list_(pa.string()))
    else:
        named = [[dict(zip(("subject", "predicate", "object"), f, strict=True)) for f in one] for one in facts]
        columns["triples"] = pa.array(named, pa.list_(STRUCT))
    probabilities = [score for r in rows for _, score in r["facts"]]
    errors = {i: r["error"] for i, r in enumerate(rows) if r["error"]}
    return scored(pa.table(columns), probabilities, [r["said"] for r in rows], errors=errors)


def night(out: Path, rows: Sequence[Row], *, shards: int = 1, triples: str = "struct", **more: Any) -> Path:
    """A finished output of rows in so many shards."""
    whole = table(rows, triples)
    size = -(-len(whole) // shards) or 1
    return finish(out, {f"part-{i}.parquet": whole.slice(i * size, size) for i in range(shards)}, **more)


def compared(folder: Path, before: Sequence[Row], after: Sequence[Row], **options: Any) -> Document:
    """The audit of a night against the one before, both with their rows in ``folder``."""
    baseline, out = (night(folder / name, rows) for name, rows in (("before", before), ("after", after)))
    return audit(out, AuditOptions(baseline=baseline, **options))


def gates_file(folder: Path, *gates: str) -> Path:
    """A file of gates, each as its lines below ``[[gates]]``."""
    path = folder / "gates.toml"
    path.write_text("".join(f"[[gates]]\n{gate}\n" for gate in gates))
    return path
