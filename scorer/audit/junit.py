"""The gates as JUnit XML, which build servers show: a gate that fails is a failure, a silent one is skipped.

When nothing was checked, a separate test case says so: skipped, or a failure where gates are required.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from .document import Document
from .gates import describe, why_nothing

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(document: Document) -> str:
    """The document's gates as one test suite.

    A warning passes, and its message is in ``system-out``. A partial output is a property of the suite.
    """
    gates, checked = document["gates"], document["checked"]
    unchecked, required = checked["nothing_checked"], checked["required"]
    suite = ElementTree.Element(
        "testsuite",
        name="scorer audit",
        tests=str(len(gates) + unchecked),
        failures=str(sum(gate["status"] == "fail" for gate in gates) + (unchecked and required)),
        errors="0",
        skipped=str(sum(gate["status"] == "silent" for gate in gates) + (unchecked and not required)),
        timestamp=document["audited"].removesuffix("+00:00"),
    )
    if document["partial"] is not None:
        properties = ElementTree.SubElement(suite, "properties")
        ElementTree.SubElement(properties, "property", name="partial", value=_clean(document["partial"]))
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
    if unchecked:
        case = ElementTree.SubElement(suite, "testcase", classname="audit", name="nothing checked", time="0")
        ElementTree.SubElement(case, "failure" if required else "skipped", message=why_nothing(checked))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
