"""Parts of an audit document made by hand: the rows and predicates that it shows, and the runs before."""

from __future__ import annotations

import hashlib
import math
from typing import Any

from scorer.audit.document import Rate, TrueRates

Z = 1.959963984540054


def rate(count: int, n: int) -> Rate:
    """A rate with its Wilson interval."""
    if not n:
        return {"count": count, "n": n, "value": None, "low": None, "high": None}
    p = count / n
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return {"count": count, "n": n, "value": p, "low": max(middle - half, 0.0), "high": min(middle + half, 1.0)}


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
                "id": f"r{i}" if i % 2 else None,
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


def true_rates() -> TrueRates:
    """Of all rows and of two systems, from 200 labels."""
    figures = (
        ("not_ok_rate", None, 0.071, 0.094, 0.068, 0.124),
        ("not_ok_rate", "tgen", 0.094, 0.131, 0.082, 0.19),
        ("not_ok_rate", "slug", 0.062, 0.07, 0.031, 0.12),
        ("omission_rate", None, 0.05, 0.061, 0.04, 0.09),
    )
    return {
        "source": "labels",
        "by": "system",
        "rates": [
            {"rate": name, "group": group, "rows": 16070 if group else 48210, "labels": 70 if group else 200,
             "metric": metric, "value": value, "low": low, "high": high}
            for name, group, metric, value, low, high in figures
        ],
    }  # fmt: skip


def worse() -> dict[str, Any]:
    """One row of each kind: another label, another text, and a new row."""
    rows = worst()
    return {
        "flipped": 2,
        "rewritten": 40,
        "better": 17,
        "added_failing": 31,
        "rows": [
            {"why": "flipped", "before": "OK", "text_before": rows[0]["text"], "now": rows[0]},
            {"why": "rewritten", "before": "OK", "text_before": "Blue Spice is a pub.", "now": rows[1]},
            {"why": "new", "before": None, "text_before": None, "now": rows[2]},
        ],
    }


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


def history(runs: int) -> list[Any]:
    """So many runs of all rows and of one system; one run has no figure."""
    found = []
    for i in range(runs):
        rates: dict[str, float | None] = {
            "not_ok_rate": 0.082 + 0.006 * math.sin(i) + (0.047 if i == runs - 1 else 0.0),
            "omission_rate": 0.051 + 0.004 * math.sin(i + 1) + (0.04 if i == runs - 1 else 0.0),
            "hallucination_rate": 0.037 + 0.003 * math.cos(i),
            "error_rate": None if i == 1 else 0.001,
            "empty_rate": 0.0014,
        }
        for grouped in ({}, {"system": "tgen"}):
            found.append(
                {
                    "night": f"2026-11-{21 - runs + 1 + i:02d}T03:12:44Z",
                    "signature": "s",
                    "status": "fail" if i == runs - 1 else "pass",
                    "group": grouped,
                    "rows": 48000 + 31 * i,
                    "mean_confidence": 0.92,
                    "rates": rates,
                }
            )
    return found
