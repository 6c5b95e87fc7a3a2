"""Events of OpenLineage (https://openlineage.io/spec/2-0-2/OpenLineage.json): what ran, on what, into what.

Events are written to a file, one JSON object a line, for a client to send; nothing is sent from here. Two standard
variables of the environment are honoured: ``OPENLINEAGE_NAMESPACE`` names the namespace of jobs, and
``OPENLINEAGE_PARENT_ID`` (``namespace/job/run id``) the task of a scheduler that started this one.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .. import __version__
from ..errors import UsageError

PRODUCER = f"urn:d2t-scorer:{__version__}"
SPEC = "https://openlineage.io/spec"
NAMESPACE, PARENT = "OPENLINEAGE_NAMESPACE", "OPENLINEAGE_PARENT_ID"
DEFAULT_NAMESPACE = "d2t-scorer"
VERSIONS = {
    "DataQualityAssertionsDatasetFacet": "1-1-0",
    "DataQualityMetricsInputDatasetFacet": "1-0-3",
    "ErrorMessageRunFacet": "1-0-1",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "TestRunFacet": "1-0-1",
}
"""Version of each facet's schema that is written."""

Json = Mapping[str, object]
Ending = Literal["COMPLETE", "FAIL"]


def facet(name: str, content: Json) -> dict[str, object]:
    """A facet. ``name``: of its schema, one of :data:`VERSIONS`."""
    url = f"{SPEC}/facets/{VERSIONS[name]}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": url, **content}


def dataset(given: str | Path, **facets: Json) -> dict[str, object]:
    """A dataset by its path or URI. ``facets``: such as ``inputFacets``."""
    text = str(given)
    scheme, found, rest = text.partition("://")
    if found and scheme != "file":
        host, _, name = rest.partition("/")
        return {"namespace": f"{scheme}://{host}", "name": name or "/", **facets}
    path = rest if found else text
    name = os.path.abspath(path).encode("utf-8", "replace").decode()  # noqa: PTH100  (a glob is no path)
    return {"namespace": "file", "name": name, **facets}


@dataclass(frozen=True)
class Job:
    """A run of a job. ``started``, ``ended``: ISO 8601 with a time zone. ``message``: why it failed, ``None`` if it
    did not."""

    name: str
    started: str
    ended: str
    message: str | None
    inputs: Sequence[Json]
    outputs: Sequence[Json] = ()
    facets: Mapping[str, Json] = field(default_factory=dict)

    def to_lines(self) -> bytes:
        """The start and the end of the run, a line each.

        Raises:
            UsageError: the variable that names the parent is not of its form.
        """
        common: dict[str, Json] = {
            "processing_engine": facet("ProcessingEngineRunFacet", {"name": "d2t-scorer", "version": __version__})
        }
        if (parent := _parent()) is not None:
            common["parent"] = parent
        ended: dict[str, Json] = {**common, **self.facets}
        if self.message is not None:
            said = {"message": self.message, "programmingLanguage": "PYTHON"}
            ended["errorMessage"] = facet("ErrorMessageRunFacet", said)
        bare = [{key: one[key] for key in ("namespace", "name")} for one in self.inputs]
        events = [
            self._event("START", self.started, common, bare, ()),
            self._event("COMPLETE" if self.message is None else "FAIL", self.ended, ended, self.inputs, self.outputs),
        ]
        return "".join(json.dumps(event) + "\n" for event in events).encode("ascii")

    def _event(
        self, kind: str, time: str, facets: Mapping[str, Json], inputs: Sequence[Json], outputs: Sequence[Json]
    ) -> dict[str, object]:
        namespace = os.environ.get(NAMESPACE) or DEFAULT_NAMESPACE
        which = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([namespace, self.name, self.started, self.inputs]))
        return {
            "eventType": kind,
            "eventTime": time,
            "run": {"runId": str(which), "facets": dict(facets)},
            "job": {"namespace": namespace, "name": self.name},
            "inputs": list(inputs),
            "outputs": list(outputs),
            "producer": PRODUCER,
            "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        }


def _parent() -> Json | None:
    given = os.environ.get(PARENT)
    if not given:
        return None
    head, _, run_id = given.rpartition("/")
    namespace, _, name = head.partition("/")
    try:
        which = str(uuid.UUID(run_id))
    except ValueError:
        which = ""
    if not (which and namespace and name):
        raise UsageError(f"{PARENT}={given[:80]}: write namespace/job/run-id, the last of which is a UUID")
    return facet("ParentRunFacet", {"run": {"runId": which}, "job": {"namespace": namespace, "name": name}})
