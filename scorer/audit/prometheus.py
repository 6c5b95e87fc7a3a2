"""The audit as metrics in Prometheus's text format, for the textfile collector of the node exporter.

Groups are labels. Only the :data:`MOST_GROUPS` groups of each grouping with the most rows are there, so that values of
the data cannot multiply the time series.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b

from .document import RATES, Document, Group, GroupFigures
from .escapes import for_prometheus
from .gates import describe

MOST_GROUPS = 50
MOST_LABEL = 120
Sample = tuple[dict[str, str], float]


def metrics(document: Document) -> str:
    """All metrics of an audit, each with its help and type. See docs/audit.md."""
    groups = _groups(document)
    rates = [
        ({**_labels(group["group"]), "rate": name.removesuffix("_rate")}, value)
        for group in groups
        for name in RATES
        if (value := group["rates"][name]["value"]) is not None
    ]
    confidences = [
        (_labels(group["group"]), mean) for group in groups if (mean := group["confidence"]["mean"]) is not None
    ]
    gates = dict.fromkeys(("pass", "warn", "fail", "silent"), 0)
    for gate in document["gates"]:
        gates[gate["status"]] += 1
    changes, worse = document["baseline_changes"], document["worse"]
    families: list[tuple[str, str, list[Sample]]] = [
        ("rows", "Rows of the run, by group.", [(_labels(group["group"]), group["rows"]) for group in groups]),
        ("rate_ratio", "Share of the rows of a group, between 0 and 1.", list(rates)),
        ("confidence_mean", "Mean confidence of the labelled rows of a group.", list(confidences)),
        ("gates", "Gates by result.", [({"result": name}, count) for name, count in gates.items()]),
        ("failed", "1 if the audit failed, otherwise 0.", [({}, int(document["status"] == "fail"))]),
        ("nothing_checked", "1 if no gate could say anything.", [({}, int(document["checked"]["nothing_checked"]))]),
        ("partial", "1 if the run did not score all of its inputs.", [({}, int(document["partial"] is not None))]),
        ("finished_timestamp_seconds", "When the run finished.", _seconds(document["finished"])),
        ("audited_timestamp_seconds", "When the audit was made.", _seconds(document["audited"])),
    ]
    if changes is not None and worse is not None:
        counted = {
            "added": changes["added"],
            "removed": changes["removed"],
            "kept": changes["kept"],
            "flipped": changes["flips"]["count"],
            "flipped_to_not_ok": worse["flipped"],
            "added_not_ok": worse["added_failing"],
        }
        samples: list[Sample] = [({"change": name}, count) for name, count in counted.items()]
        families.append(("baseline_rows", "Rows compared with the baseline, by change.", samples))
    return "".join(_family(f"d2t_audit_{name}", text, samples) for name, text, samples in families if samples)


def _groups(document: Document) -> list[GroupFigures]:
    found: dict[tuple[str, ...], list[GroupFigures]] = {}
    for group in document["groups"]:
        found.setdefault(tuple(group["grouping"]), []).append(group)
    return [
        group
        for groups in found.values()
        for group in sorted(groups, key=lambda group: (-group["rows"], describe(group["group"])))[:MOST_GROUPS]
    ]


def _labels(group: Group) -> dict[str, str]:
    return {"group": describe(group)}


def _seconds(stamp: str) -> list[Sample]:
    try:
        return [({}, datetime.fromisoformat(stamp).timestamp())]
    except ValueError:
        return []


def _family(name: str, text: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
    seen = set()
    for labels, value in samples:
        written = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        if written not in seen:  # two groups may be equal once cut
            seen.add(written)
            lines.append(f"{name}{'{' + written + '}' if written else ''} {value!r}")
    return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    label = label.encode("utf-8", "replace").decode()
    if len(label) > MOST_LABEL:  # with a digest, so that names which differ after the cut stay two
        label = f"{label[: MOST_LABEL - 9]}…{blake2b(label.encode(), digest_size=4).hexdigest()}"
    return for_prometheus(label)
