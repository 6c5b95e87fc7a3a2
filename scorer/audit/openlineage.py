"""An audit as events of OpenLineage: gates become assertions on the output, and tests of the run."""

from __future__ import annotations

from datetime import UTC, datetime

from ..scoring.lineage import Job, Json, dataset, facet
from .document import Document, Gate
from .gates import describe


def openlineage(document: Document) -> bytes:
    """The start and the end of an audit, as JSON Lines.

    Gates that are silent are tests that were skipped, and no assertions. The audit has failed when its status is
    ``fail``.

    Raises:
        UsageError: the variable that names the parent is not of its form.
    """
    gates = document["gates"]
    failed = sum(gate["status"] == "fail" for gate in gates)
    message = f"{failed} of {len(gates)} gates failed" if failed else "nothing was checked"
    metrics = facet("DataQualityMetricsInputDatasetFacet", {"rowCount": document["rows"]["in"], "columnMetrics": {}})
    assertions = [_assertion(gate) for gate in gates if gate["status"] != "silent"]
    facets: dict[str, Json] = {"dataQualityMetrics": metrics}
    if assertions:
        facets["dataQualityAssertions"] = facet("DataQualityAssertionsDatasetFacet", {"assertions": assertions})
    inputs = [dataset(document["out"], inputFacets=facets)]
    if document["baseline"] is not None:
        inputs.append(dataset(document["baseline"]["out"]))
    return Job(
        name="scorer audit",
        started=document["audited"],
        ended=datetime.now(UTC).isoformat(timespec="seconds"),
        message=message if document["status"] == "fail" else None,
        inputs=inputs,
        facets={"test": facet("TestRunFacet", {"tests": [_test(gate) for gate in gates]})},
    ).to_lines()


def _severity(gate: Gate) -> str:
    """What it means that the gate does not pass: of a gate with both thresholds, the one that was passed."""
    return "warn" if gate["status"] == "warn" or gate["fail"] is None else "error"


def _said(gate: Gate) -> dict[str, object]:
    limit = gate["fail"] if _severity(gate) == "error" else gate["warn"]
    said: dict[str, object] = {
        "name": f"{gate['metric']} of {describe(gate['group'])}",
        "severity": _severity(gate),
        "description": gate["message"],
        "expected": f"{'at most' if gate['rings'] == 'above' else 'at least'} {limit}",
        "params": {"group": gate["group"], "against": gate["against"], "rows": gate["rows"]},
    }
    return said if gate["value"] is None else {**said, "actual": str(gate["value"])}


def _assertion(gate: Gate) -> dict[str, object]:
    return {"assertion": gate["metric"], "success": gate["status"] == "pass", **_said(gate)}


def _test(gate: Gate) -> dict[str, object]:
    status = {"pass": "pass", "warn": "fail", "fail": "fail", "silent": "skip"}[gate["status"]]
    return {"type": gate["metric"], "status": status, **_said(gate)}
