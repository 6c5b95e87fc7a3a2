"""Audit documents made by hand, with figures that hang together, for the tests of the report."""

from __future__ import annotations

from typing import Any

from scorer.audit.document import BINS, RATES, Change, Document, Group, GroupFigures, Rate
from tests.audit.report.parts import history, predicates, rate, true_rates, worse, worst


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
    """The same group in the run before."""
    moved = {}
    for name in RATES:
        earlier, now = rate(before.get(name, 0), rows), rates[name]
        difference = (now["value"] or 0.0) - (earlier["value"] or 0.0)
        is_significant = significant and abs(difference) > 0.01
        q = 0.00004 if is_significant else 0.61
        test: Any = {
            "name": "mantel_haenszel",
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
            "rewritten": {"n": rows // 20, "worse": 3, "better": 1, "correlation": 0.6},
            "tests": [test],
            "significant": is_significant,
        }
    return {
        "rows_before": rows,
        "added": rows // 18,
        "removed": rows // 20,
        "kept": rows - rows // 18,
        "rewritten": rows // 20,
        "flips": 0,
        "backoff_before": None,
        "rates": moved,
        "added_rates": {},
        "confidence": {
            "before": confidence(rows, 0.08, 0.921),
            "psi": 0.031,
            "ks": 0.041,
            "tests": [],
            "significant": False,
        },
    }


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
        "unsupported_numbers_rate": rate(0, rows),
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
        "design_effects": dict.fromkeys(rates, 1.0),
        "backoff": rate(rows // 30, rows * 4),
        "confidence": confidence(rows - errors, not_ok / rows, 0.9034),
        "predicates": [],
        "predicates_left_out": 0,
        "by_facts": [],
        "by_length": [],
        "duplicates": {"rows": rows, "distinct": rows - 41, "repeated": 41, "most": 6},
        "change": change(rows, rates, earlier, worse) if baseline else None,
    }


def gates() -> list[Any]:
    """One of every status, absolute and against the baseline."""
    tgen: Group = {"system": "tgen"}
    cases: list[tuple[Any, ...]] = [
        ("not_ok_rate", tgen, "fail", 0.0466, 0.1262, 0.01, 0.03, "baseline", "rose by 4.7 points, fails above 3.0"),
        ("omission_rate", {}, "warn", 0.0707, 0.0707, 0.05, 0.1, None, "omission_rate is 7.1%, warns above 5.0%"),
        ("error_rate", {}, "pass", 0.0011, 0.0011, None, 0.01, None, "error_rate is 0.1%"),
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
                "fail_p": None,
                "p": None,
                "rings": "below" if metric == "mean_confidence" else "above",
                "against": against,
                "rows": 37 if status == "silent" else 16070,
                "min_rows": 200,
                "missing": "fail",
                "reason": "needs 200 rows (min_rows), there are 37" if status == "silent" else None,
                "message": message,
            }
        )
    return found


def document(baseline: bool = True, gated: bool = True, runs: int = 7) -> Document:
    """A run that went wrong in one system and has one broken template, with a baseline."""
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
        "partial": None,
        "status": "fail" if gated else "pass",
        "headline": "system=tgen: not_OK 7.6% → 12.3%; no other system changed.",
        "checked": {
            "gates": 6 if gated else 0,
            "silent": 1 if gated else 0,
            "nothing_checked": not gated,
            "required": False,
        },
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
        "reference": None,
        "baseline": {
            "out": "/data/scored/2026-11-20",
            "partial": None,
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
                "evidence": ["7.97% → 12.6% of 16,070 rows"],
            },
            {
                "kind": "template",
                "severity": "warn",
                "group": {},
                "message": "The template of “customer rating” looks wrong: 93.9% of its facts are omitted",
                "evidence": [
                    "<subject> scores <object> stars upside down.",
                    "the median predicate is at 5.2%, yesterday it was at 4.1%",
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
        "worse": worse() if baseline else None,
        "true_rates": true_rates() if gated else None,
        "history": history(runs),
        "notes": [],
    }
    return found  # type: ignore[no-any-return]
