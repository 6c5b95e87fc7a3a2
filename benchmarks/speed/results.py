"""Write figures as a Markdown table and as JSON, both from the same summary."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .rounds import Group, Measured

SCHEMA = 1


def summarise(group: Group) -> dict[str, Any]:
    """A group in the form of the JSON: every setting with its rounds, medians, ratios, and agreement."""
    reference = group.find(group.reference)
    return {
        "name": group.name,
        "title": group.title,
        "unit": group.unit,
        "items": group.items,
        "reference": group.reference,
        "sample": group.sample,
        "settings": [_summarise_one(group, one, reference) for one in group.measured],
    }


def _summarise_one(group: Group, one: Measured, reference: Measured | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": one.setting.name,
        "label": one.setting.label,
        "ours": one.setting.ours,
        "bare": one.setting.bare,
        "error": one.error,
        "chosen": one.opened.get("chosen", {}),
        "load_seconds": one.opened.get("load_seconds"),
        "python": one.opened.get("python"),
        "versions": one.opened.get("versions", {}),
        "rounds": [
            {**r, "seconds": round(r["seconds"], 4), "rate": round(rate, 3)}
            for r, rate in zip(one.rounds, one.rates(group.items), strict=True)
        ],
    }
    if one.rounds:
        rates = one.rates(group.items)
        entry |= {
            "median": round(statistics.median(rates), 3),
            "lowest": round(min(rates), 3),
            "highest": round(max(rates), 3),
            "others": _median([r["others"] for r in one.rounds]),
            "peak_mb": max(r["peak_mb"] for r in one.rounds),
        }
        if reference is not None:
            entry["ratio"] = round(group.ratio(one, reference), 3)
            entry |= agreement(one.answers, reference.answers)
        bare = group.find(f"bare-{one.setting.name.split('-', 1)[-1]}")
        if one.setting.ours and bare is not None:
            entry["of_bare"] = round(group.ratio(one, bare), 4)
    return entry


def agreement(found: Any, expected: Any) -> dict[str, Any]:
    """Share of equal labels; for probabilities (float, *Shape:* (pairs, 3)) also the largest difference.

    Empty if the two differ in type or length.
    """
    if not found or not expected or len(found) != len(expected):
        return {}
    if isinstance(found[0], str) or isinstance(expected[0], str):
        if type(found[0]) is not type(expected[0]):
            return {}
        return {"labels": round(float(np.mean([a == b for a, b in zip(found, expected, strict=True)])), 5)}
    a, b = np.asarray(found), np.asarray(expected)
    return {
        "labels": round(float((a.argmax(axis=1) == b.argmax(axis=1)).mean()), 5),
        "max_probability": float(f"{np.abs(a - b).max():.3g}"),
    }


def table(group: dict[str, Any]) -> str:
    """The Markdown table of a group, fastest first; settings that could not be measured are last, with the reason."""
    done = sorted((s for s in group["settings"] if "median" in s), key=lambda s: -s["median"])
    reference = next((s["label"] for s in group["settings"] if s["name"] == group["reference"]), group["reference"])
    with_differences = any("max_probability" in s for s in done)
    head = ["setting", f"{group['unit']}/s", "lowest to highest", f"× {reference.split(',')[0]}", "labels as there"]
    head += ["largest \\|Δp\\|"] if with_differences else []
    busy = any((s["others"] or 0) >= 0.1 for s in done)
    head += [*(["others' cores"] if busy else []), "rounds", "how"]
    lines = [f"**{group['title']}**", "", _row(head), _row(["---", *["---:"] * (len(head) - 2), "---"])]
    for s in done:
        cells = [
            f"**{s['label']}**" if s["ours"] else f"*{s['label']}*" if s["bare"] else s["label"],
            _number(s["median"]),
            f"{_number(s['lowest'])} to {_number(s['highest'])}",
            f"{s['ratio']:.2f}" if "ratio" in s and not math.isnan(s["ratio"]) else "",
            _share(s["labels"]) if "labels" in s else "",
        ]
        cells += [f"{s['max_probability']:.1g}" if "max_probability" in s else ""] if with_differences else []
        cells += [f"{s['others']:.1f}" if s["others"] is not None else ""] if busy else []
        lines.append(_row([*cells, str(len(s["rounds"])), _how(s)]))
    lost = [s for s in group["settings"] if "median" not in s]
    if lost:
        lines += ["", "Not measured:", ""]
        lines += [f"- {s['label']}: {s['error'] or 'no round was run'}" for s in lost]
    return "\n".join(lines)


def rounds_done(groups: Sequence[dict[str, Any]]) -> str:
    """The number of rounds that the measured settings had, in words; a deadline may have ended them early."""
    counts = [len(s["rounds"]) for group in groups for s in group["settings"] if s["rounds"]]
    if not counts:
        return "no round"
    low, high = min(counts), max(counts)
    return f"{low} round{'s' * (low > 1)} a setting" if low == high else f"{low} to {high} rounds a setting"


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a result; floats that JSON cannot represent become null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_clean({"schema": SCHEMA, **content}), indent=1, ensure_ascii=False) + "\n")


def all_versions(measured: Sequence[Measured]) -> dict[str, str]:
    """Versions of all packages that any setting imported."""
    found: dict[str, str] = {}
    for one in measured:
        found |= one.opened.get("versions", {})
    return dict(sorted(found.items()))


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(statistics.median(known), 2) if known else None


def _how(setting: dict[str, Any]) -> str:
    chosen = setting["chosen"]
    parts = [str(chosen["way"])] if "way" in chosen else []
    parts += [f"batch {chosen['batch']}"] if "batch" in chosen else []
    if "first_pass_seconds" in chosen and "shapes" in chosen:
        parts.append(f"{chosen['shapes']} shapes, their first pass {chosen['first_pass_seconds']:.2f} s")
    parts += [f"utilisation {setting['utilisation']:.1%}"] if "utilisation" in setting else []
    parts += [f"{setting['of_bare']:.1%} of the bare session"] if "of_bare" in setting else []
    return ", ".join(parts)


def _share(value: float) -> str:
    return f"{value:.2%}" if 0.99 <= value < 1 else f"{value:.1%}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
