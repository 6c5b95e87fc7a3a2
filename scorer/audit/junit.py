"""The gates as JUnit XML, which build servers show: a gate that fails is a failure, a silent one is skipped."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from .document import Document
from .gates import describe

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(document: Document) -> str:
    """The document's gates as one test suite; without gates, a single case that passes.

    A warning passes, and its message stands in ``system-out``.
    """
    gates = document["gates"]
    suite = ElementTree.Element(
        "testsuite",
        name="scorer audit",
        tests=str(max(1, len(gates))),
        failures=str(sum(gate["status"] == "fail" for gate in gates)),
        errors="0",
        skipped=str(sum(gate["status"] == "silent" for gate in gates)),
        timestamp=document["audited"].removesuffix("+00:00"),
    )
    for gate in gates:
        name = gate["metric"] + (" against the baseline" if gate["against"] else "")
        case = ElementTree.SubElement(
            suite, "testcase", classname=_clean(f"audit.{describe(gate['group'])}"), name=name, time="0"
        )
        message = _clean(gate["message"])
        if gate["status"] == "fail":
            ElementTree.SubElement(case, "failure", message=message, type="gate").text = message
        elif gate["status"] == "silent":
            ElementTree.SubElement(case, "skipped", message=message)
        else:
            ElementTree.SubElement(case, "system-out").text = f"{gate['status']}: {message}"
    if not gates:
        ElementTree.SubElement(suite, "testcase", classname="audit", name="no gates", time="0")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
