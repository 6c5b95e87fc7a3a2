"""Audit documents made by hand, with figures that hang together, for the tests of the report."""

from __future__ import annotations

import hashlib
import math
from typing import Any

from scorer.audit.document import BINS, RATES, Change, Document, Group, GroupFigures, Rate

Z = 1.959963984540054


def rate(count: int, n: int) -> Rate:
    """A rate with its Wilson interval."""
    if not n:
        return {"count": count, "n": n, "value": None, "low": None, "high": None}
    p = count / n
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return {"count": count, "n": n, "value": p, "low": max(middle - half, 0.0), "high": min(middle + half, 1.0)}


def histogram(rows: int, doubtful: float) -> list[int]:
    """Confidences of a good model: most at the top, ``doubtful`` of the rows spread below."""
    low = int(rows * doubtful)
    counts = [low // 4, low // 10, *([low // (BINS - 2) // 2] * (BINS - 5)), low // 12, low // 6]
    return [*counts, rows - sum(counts)]


def confidence(rows: int, doubtful: float, mean: float) -> Any:
    """A distribution of confidences."""
    quantiles = {"0.01": 0.0012, "0.05": 0.0171, "0.25": 0.9012, "0.5": 0.9845, "0.75": 0.9951, "0.99": 0.9992}
    return {"n": rows, "mean": mean, "quantiles": quantiles, "histogram": histogram(rows, doubtful)}


def change(rows: int, rates: dict[str, Rate], before: dict[str, int], significant: bool) -> Change:
    """The same group a night before."""
    moved = {}
    for name in RATES:
        earlier, now = rate(before.get(name, 0), rows), rates[name]
        difference = (now["value"] or 0.0) - (earlier["value"] or 0.0)
        is_significant = significant and abs(difference) > 0.01
        q = 0.00004 if is_significant else 0.61
        test: Any = {
            "name": "two_proportions",
            "n_before": rows // 20,
            "n_after": rows // 18,
            "statistic": 4.4,
            "p": q / 3,
            "q": q,
            "significant": is_significant,
        }
        moved[name] = {
            "before": earlier,
            "after": now,
            "difference": difference,
            "low": difference - 0.004,
            "high": difference + 0.004,
            "tests": [test],
            "significant": is_significant,
        }
    return {
        "rows_before": rows,
        "added": rows // 18,
        "removed": rows // 20,
        "kept": rows - rows // 18,
        "rates": moved,
        "confidence": {
            "before": confidence(rows, 0.08, 0.921),
            "psi": 0.031,
            "ks": 0.041,
            "tests": [],
            "significant": False,
        },
    }  # type: ignore[typeddict-item]


def group(
    name: str | None, rows: int, omissions: int, hallucinations: int, worse: bool, baseline: bool
) -> GroupFigures:
    """Figures of one system, or of all rows."""
    both, errors, empty = omissions // 8, rows // 900, rows // 700
    not_ok = omissions + hallucinations - both + errors
    rates = {
        "not_ok_rate": rate(not_ok, rows),
        "omission_rate": rate(omissions, rows),
        "hallucination_rate": rate(hallucinations, rows),
        "error_rate": rate(errors, rows),
        "empty_rate": rate(empty, rows),
    }
    earlier = {
        "not_ok_rate": not_ok - (int(rows * 0.047) if worse else 3),
        "omission_rate": omissions - (int(rows * 0.04) if worse else 2),
        "hallucination_rate": hallucinations - 1,
        "error_rate": errors,
        "empty_rate": empty,
    }
    grouped: Group = {"system": name} if name else {}
    return {
        "group": grouped,
        "grouping": list(grouped),
        "rows": rows,
        "scored": rows // 18,
        "reused": rows - rows // 18 - errors,
        "fine": {
            "OK": rows - not_ok,
            "omission": omissions - both,
            "hallucination": hallucinations - both,
            "omission+hallucination": both,
        },
        "rough": {"OK": rows - not_ok, "not_OK": not_ok - errors},
        "errors": {"too_long:hallucination": errors},
        "notes": {"empty_text": empty},
        "rates": rates,
        "labels": {"OK": rate(rows - not_ok, rows)},
        "backoff": rate(rows // 30, rows * 4),
        "confidence": confidence(rows - errors, not_ok / rows, 0.9034),
        "predicates": [],
        "predicates_left_out": 0,
        "by_facts": [],
        "by_length": [],
        "duplicates": {"rows": rows, "distinct": rows - 41, "repeated": 41, "most": 6},
        "change": change(rows, rates, earlier, worse) if baseline else None,
    }


def worst() -> list[Any]:
    """Two rows of each kind that there is."""
    facts = [
        ("Blue Spice", "eatType", "pub", "Blue Spice is a pub.", 0.9931, False),
        ("Blue Spice", "area", "riverside", "Blue Spice is located by the riverside.", 0.0214, True),
        (
            "Blue Spice",
            "customer rating",
            "5 out of 5",
            "Blue Spice has a customer rating of 5 out of 5.",
            0.9811,
            False,
        ),
    ]
    shown = [
        dict(zip(("subject", "predicate", "object", "sentence", "entailment", "omitted"), f, strict=True))
        for f in facts
    ]
    said = [{**fact, "omitted": False, "entailment": 0.97} for fact in shown]
    none = [{**fact, "omitted": True, "entailment": None} for fact in shown]
    bare = [{**fact, "sentence": None} for fact in shown]
    cases: list[
        tuple[str, str | None, list[dict[str, Any]] | None, float | None, float | None, str | None, str | None]
    ] = [
        ("omission", "Blue Spice is a pub with a 5 out of 5 rating.", shown, 0.9712, 0.0214, None, None),
        (
            "omission",
            "The Blue Spice pub is rated five out of five by its customers.",
            bare,
            0.9501,
            0.0310,
            None,
            None,
        ),
        (
            "hallucination",
            "Blue Spice is a cheap pub by the river, rated 5 out of 5.",
            said,
            0.0041,
            0.0041,
            None,
            None,
        ),
        (
            "hallucination",
            "Blue Spice, a pub near Café Rouge, serves excellent fish.",
            said,
            0.0102,
            0.0102,
            None,
            "truncated",
        ),
        ("omission+hallucination", "Blue Spice is a family-friendly pub.", shown, 0.0009, 0.0009, None, None),
        ("empty_text", "", none, None, 0.0, None, "empty_text"),
        (
            "error:too_long:hallucination",
            "Blue Spice is a pub. " * 80,
            None,
            None,
            None,
            "too_long:hallucination",
            None,
        ),
        ("error:null_text", None, None, None, None, "null_text", None),
    ]
    rows = []
    for i, (kind, text, of, entailment, sure, error, note) in enumerate(cases):
        rows.append(
            {
                "kind": kind,
                "file": f"part-{i % 3}.parquet",
                "row": 17 * i + 3,
                "row_key": hashlib.blake2b(str(i).encode(), digest_size=16).hexdigest(),
                "group": {"system": ("tgen", "slug", "sheff1")[i % 3]},
                "text": text,
                "clipped": False,
                "facts": of,
                "text_entailment": entailment,
                "confidence": sure,
                "error": error,
                "note": note,
            }
        )
    return rows


def predicates() -> list[Any]:
    """One with a broken template, some ordinary ones."""
    found = []
    for name, omitted, facts, backoff, before, suspect in (
        ("customer rating", 11871, 12644, 0.0, 0.0413, True),
        ("familyFriendly", 1702, 9310, 0.0, 0.1791, False),
        ("near", 604, 8455, 0.0, 0.0699, False),
        ("priceRange", 588, 11204, 0.0, 0.0531, False),
        ("area", 402, 13060, 0.0, 0.0311, False),
        ("food", 211, 12800, 0.0, 0.0171, False),
        ("eatType", 90, 12950, 0.0, 0.0068, False),
        ("openingHours", 4, 57, 1.0, None, False),
    ):
        found.append(
            {
                "predicate": name,
                "omission": rate(omitted, facts),
                "backoff": backoff,
                "before": before,
                "suspect": suspect,
            }
        )
    return found


def history(nights: int) -> list[Any]:
    """So many nights of all rows and of one system; one night has no figure."""
    found = []
    for i in range(nights):
        rates: dict[str, float | None] = {
            "not_ok_rate": 0.082 + 0.006 * math.sin(i) + (0.047 if i == nights - 1 else 0.0),
            "omission_rate": 0.051 + 0.004 * math.sin(i + 1) + (0.04 if i == nights - 1 else 0.0),
            "hallucination_rate": 0.037 + 0.003 * math.cos(i),
            "error_rate": None if i == 1 else 0.001,
            "empty_rate": 0.0014,
        }
        for grouped in ({}, {"system": "tgen"}):
            found.append(
                {
                    "night": f"2026-11-{21 - nights + 1 + i:02d}T03:12:44Z",
                    "signature": "s",
                    "status": "fail" if i == nights - 1 else "pass",
                    "group": grouped,
                    "rows": 48000 + 31 * i,
                    "mean_confidence": 0.92,
                    "rates": rates,
                }
            )
    return found


def gates() -> list[Any]:
    """One of every status, absolute and against the baseline."""
    tgen: Group = {"system": "tgen"}
    cases: list[tuple[Any, ...]] = [
        ("not_ok_rate", tgen, "fail", 0.0466, 0.1262, 0.01, 0.03, "baseline", "rose by 4.7 points, fails above 3.0"),
        ("omission_rate", {}, "warn", 0.0707, 0.0707, 0.05, 0.1, None, "omission_rate is 7.1 %, warns above 5.0 %"),
        ("error_rate", {}, "pass", 0.0011, 0.0011, None, 0.01, None, "error_rate is 0.1 %"),
        ("label_flips", {}, "pass", 2.0, 2.0, 10.0, 100.0, None, "2 label flips"),
        ("mean_confidence", {}, "pass", 0.9034, 0.9034, 0.85, 0.8, None, "mean_confidence is 0.903"),
        ("psi_confidence", {"system": None}, "silent", None, None, 0.1, 0.25, None, "37 rows, silent below 200"),
    ]
    found = []
    for metric, grouped, status, value, now, warn, fail, against, message in cases:
        found.append(
            {
                "metric": metric,
                "group": grouped,
                "status": status,
                "value": value,
                "now": now,
                "before": None,
                "low": 0.066 if metric == "omission_rate" else None,
                "high": 0.074 if metric == "omission_rate" else None,
                "warn": warn,
                "fail": fail,
                "rings": "below" if metric == "mean_confidence" else "above",
                "against": against,
                "rows": 37 if status == "silent" else 16070,
                "min_rows": 200,
                "message": message,
            }
        )
    return found


def document(baseline: bool = True, gated: bool = True, nights: int = 7) -> Document:
    """A night that went wrong in one system and has one broken template, beside a baseline."""
    whole = group(None, 48210, 3410, 1822, True, baseline)
    whole["predicates"] = predicates()
    whole["predicates_left_out"] = 3
    sizes = ((611, 9, 30), (5120, 160, 161), (14210, 742, 402), (16200, 1290, 598), (9900, 940, 480), (2169, 269, 151))
    for n, (rows, omitted, more) in enumerate(sizes, 1):
        most = n if n < 6 else None
        figures = {"rows": rows, "omission": rate(omitted, rows), "hallucination": rate(more, rows)}
        whole["by_facts"].append({"least": n, "most": most, **figures})  # type: ignore[typeddict-item]
        least = (n - 1) * 50 + (n > 1)
        whole["by_length"].append({"least": least, "most": n * 50 if n < 6 else None, **figures})  # type: ignore[typeddict-item]
    groups = [
        whole,
        group("tgen", 16070, 1511, 640, True, baseline),
        group("slug", 16070, 1002, 590, False, baseline),
        group("sheff1", 16033, 891, 580, False, baseline),
        group(None, 37, 6, 12, False, baseline),
    ]
    groups[-1]["group"], groups[-1]["grouping"] = {"system": None}, ["system"]
    signature = (
        "model:roberta-large-mnli@90dcdf1ea4b0|prec:int8|ep:cpu|exact:no|templates:5b2f0c1d9e77|protocol:paper"
        "|optional:|checks:both|maxlen:512|overlong:error|metric:1"
    )
    found: Any = {
        "schema": 1,
        "out": "/data/scored/2026-11-21",
        "audited": "2026-11-21T03:14:02Z",
        "finished": "2026-11-21T03:12:44Z",
        "status": "fail" if gated else "pass",
        "signature": signature,
        "bundle": {"name": "roberta-large-mnli", "sha": "90dcdf1ea4b0"},
        "templates": {"sha": "5b2f0c1d9e77", "file": "/data/templates/e2e.json"},
        "device": "cpu, 2 threads",
        "versions": {"d2t-scorer": "0.1.0", "onnxruntime": "1.31.1"},
        "options": {"by": [["system"]], "errors": "not-ok"},
        "rows": {
            "in": 48210,
            "scored": 2678,
            "reused": 45479,
            "errors": {"too_long:hallucination": 51, "null_text": 2},
            "notes": {"empty_text": 68, "truncated": 4},
        },
        "baseline": {
            "out": "/data/scored/2026-11-20",
            "finished": "2026-11-20T03:11:09Z",
            "signature": signature,
            "same_signature": True,
            "differs": [],
            "rows": 48210,
        }
        if baseline
        else None,
        "baseline_changes": {
            "added": 2678,
            "removed": 2410,
            "kept": 45532,
            "errors_appeared": 0,
            "errors_gone": 1,
            "flips": {
                "count": 2,
                "beyond_bound": 0,
                "allowed": 0.04,
                "rows": [
                    {
                        "row_key": "0123456789abcdef" * 2,
                        "file": "part-0.parquet",
                        "row": 5 + i,
                        "file_before": "part-0.parquet",
                        "row_before": 5,
                        "before": "OK",
                        "after": "omission",
                        "difference": 0.0171,
                        "beyond_bound": False,
                    }
                    for i in range(2)
                ],
            },
        }
        if baseline
        else None,
        "callouts": [
            {
                "kind": "gate",
                "severity": "fail",
                "group": {"system": "tgen"},
                "message": "not_ok_rate of system = tgen rose by 4.7 points; the gate fails above 3.0",
                "evidence": ["7.97 % → 12.6 % of 16,070 rows"],
            },
            {
                "kind": "template",
                "severity": "warn",
                "group": {},
                "message": "The template of “customer rating” looks wrong: 93.9 % of its facts are omitted",
                "evidence": [
                    "<subject> scores <object> stars upside down.",
                    "the median predicate is at 5.2 %, yesterday it was at 4.1 %",
                ],
            },
        ],
        "gates": gates() if gated else [],
        "groups": groups,
        "template_figures": [
            {
                "predicate": "customer rating",
                "object": None,
                "template": "<subject> scores <object> stars upside down.",
                "backoff": False,
                "omission": rate(11871, 12644),
                "suspect": True,
            },
            {
                "predicate": "familyFriendly",
                "object": "yes",
                "template": "<subject> is family-friendly.",
                "backoff": False,
                "omission": rate(900, 5000),
                "suspect": False,
            },
        ],
        "worst": worst(),
        "history": history(nights),
        "notes": [],
    }
    return found  # type: ignore[no-any-return]
