"""Files of an audit for other programs: JUnit XML for build servers, metrics for Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from xml.etree import ElementTree

from ..document import RATES, Document, GroupFigures, describe
from ..gates import reason_for_nothing
from .text import for_prometheus

MOST_GROUPS = 50
"""Groups of each grouping that have metrics: values of the data must not multiply the time series."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(document: Document) -> str:
    """The gates as a test suite. A warning passes, and its message is in ``system-out``; a silent gate is skipped.

    When nothing was checked, a test case says so: skipped, or a failure where gates are required.
    """
    suite = ElementTree.Element("testsuite", name="scorer audit", errors="0")
    suite.set("timestamp", document.audited.removesuffix("+00:00"))
    if document.partial is not None:
        properties = ElementTree.SubElement(suite, "properties")
        ElementTree.SubElement(properties, "property", name="partial", value=_xml(document.partial))
    for gate in document.gates:
        against = f" against the {'removed rows' if gate.against == 'removed' else gate.against}"  # baseline, history
        case = _case(suite, f"audit.{describe(gate.group)}", gate.metric + (against if gate.against else ""))
        message = _xml(gate.message)
        if gate.status == "fail":
            ElementTree.SubElement(case, "failure", message=message, type="gate").text = message
        elif gate.status == "silent":
            ElementTree.SubElement(case, "skipped", message=message)
        else:
            ElementTree.SubElement(case, "system-out").text = f"{gate.status}: {message}"
    if document.checked.nothing_checked:
        kind = "failure" if document.checked.required else "skipped"
        case = _case(suite, "audit", "nothing checked")
        ElementTree.SubElement(case, kind, message=reason_for_nothing(document.checked))
    for key, tag in (("tests", "testcase"), ("failures", "testcase/failure"), ("skipped", "testcase/skipped")):
        suite.set(key, str(len(suite.findall(tag))))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _case(suite: ElementTree.Element, classname: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=_xml(classname), name=_xml(name), time="0")


def _xml(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


Samples = Iterable[tuple[Mapping[str, str], float | None]]
"""Labels and value of each sample; those without a value are left out."""


def metrics(document: Document) -> str:
    """All metrics of an audit, each with its help and type, in the text format of Prometheus. See docs/audit.md."""
    labelled = [({"group": describe(group.group)}, group) for group in _largest(document)]
    rates = [
        (name | {"rate": rate.removesuffix("_rate")}, group.rates[rate].value)
        for name, group in labelled
        for rate in RATES
    ]
    rates += [
        (name | {"rate": "left_out"}, group.left_out.value) for name, group in labelled if group.left_out is not None
    ]
    results = [gate.status for gate in document.gates]
    gates = [({"result": status}, results.count(status)) for status in ("pass", "warn", "fail", "silent")]
    moved, changes, worse = {}, document.baseline_changes, document.worse
    if changes is not None and worse is not None:
        moved = {
            "added": changes.added,
            "removed": changes.removed,
            "kept": changes.kept,
            "flipped": changes.flips.count,
            "flipped_to_not_ok": worse.flipped,
            "rewritten_to_not_ok": worse.rewritten,
            "added_not_ok": worse.added_failing,
            "got_better": worse.better,
        }
    families: list[tuple[str, str, Samples]] = [
        ("rows", "Rows of the run, by group.", [(name, group.rows) for name, group in labelled]),
        ("rate_ratio", "Share of the rows of a group, between 0 and 1.", rates),
        ("confidence_mean", "Mean confidence of the labelled rows of a group.",
         [(name, group.confidence.mean) for name, group in labelled]),
        ("gates", "Gates by result.", gates),
        ("failed", "1 if the audit failed, otherwise 0.", [({}, document.status == "fail")]),
        ("nothing_checked", "1 if no gate could say anything.", [({}, document.checked.nothing_checked)]),
        ("partial", "1 if the run did not score all of its inputs.", [({}, document.partial is not None)]),
        ("finished_timestamp_seconds", "When the run finished.", [({}, _seconds(document.finished))]),
        ("audited_timestamp_seconds", "When the audit was made.", [({}, _seconds(document.audited))]),
        ("baseline_rows", "Rows compared with the baseline, by change.",
         [({"change": name}, number) for name, number in moved.items()]),
    ]  # fmt: skip
    return "".join(_family(*family) for family in families)


def _family(name: str, help_text: str, samples: Samples) -> str:
    lines = []
    for labels, value in samples:
        label_text = ",".join(f'{key}="{for_prometheus(text)}"' for key, text in labels.items())
        if value is not None:
            lines.append(f"d2t_audit_{name}{f'{{{label_text}}}' if label_text else ''} {value + 0}\n")
    head = f"# HELP d2t_audit_{name} {help_text}\n# TYPE d2t_audit_{name} gauge\n"
    return head + "".join(lines) if lines else ""


def _largest(document: Document) -> list[GroupFigures]:
    """The largest groups of each grouping; of groups with equal labels after clipping, the first."""
    by_grouping: dict[tuple[str, ...], list[GroupFigures]] = {}
    for group in document.groups:
        by_grouping.setdefault(tuple(group.grouping), []).append(group)
    by_label: dict[str, GroupFigures] = {}
    for groups in by_grouping.values():
        for group in sorted(groups, key=lambda group: (-group.rows, describe(group.group)))[:MOST_GROUPS]:
            by_label.setdefault(for_prometheus(describe(group.group)), group)
    return list(by_label.values())


def _seconds(stamp: str) -> float | None:
    """A time of the document in seconds since 1970; ``None`` for an invalid one."""
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None
