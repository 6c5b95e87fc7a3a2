"""The gates as JUnit XML, which build servers show: a gate that fails is a failure, a silent one is skipped.

When nothing was checked, a separate test case says so: skipped, or a failure where gates are required.
"""

from __future__ import annotations

from xml.etree import ElementTree

from .document import Document
from .escapes import for_xml
from .gates import describe, why_nothing


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
        ElementTree.SubElement(properties, "property", name="partial", value=for_xml(document["partial"]))
    for gate in gates:
        name = gate["metric"] + (
            f" against the {'reference' if gate['against'] == 'reference' else 'baseline'}" if gate["against"] else ""
        )
        case = ElementTree.SubElement(
            suite, "testcase", classname=for_xml(f"audit.{describe(gate['group'])}"), name=name, time="0"
        )
        message = for_xml(gate["message"])
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
