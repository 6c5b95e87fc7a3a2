"""Two users without root and a folder that both may write: one goes on with what the other began."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.faults import harness
from tests.faults.test_killed import FRESH

GROUP, USERS = 64_200, (64_201, 64_202)
Reference = tuple[Path, Path]
# Each may enter any folder and read any file, since an interpreter may lie in root's home; neither may write more.
CAPS = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
AS = ["setpriv", f"--regid={GROUP}", "--clear-groups", *CAPS]
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run([*AS, f"--reuid={USERS[0]}", "true"], capture_output=True).returncode != 0,
    reason="to be two users takes root, setpriv and ambient capabilities",
)


@pytest.fixture
def shared(reference: Reference, bundle: Path) -> Iterator[Path]:
    """A folder of the group's, with inputs and a bundle in it; not below pytest's, which nobody else may enter."""
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    folder = base / "shared"
    folder.mkdir()
    shutil.copytree(reference[0], folder / "in")
    shutil.copytree(bundle, folder / "bundle")
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, USERS[0], GROUP)
        path.chmod(0o2775 if path.is_dir() else 0o664)
    yield folder
    shutil.rmtree(base)


def as_user(who: int, shared: Path, *more: str, code: int = 0, crash_at: str = "") -> str:
    """A run of one of the two users, under umask 002 and with a cache of its own."""
    cache = shared.parent / f"cache{who}"
    cache.mkdir(exist_ok=True)
    os.chown(cache, USERS[who], GROUP)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "HOME": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    if crash_at:
        environment["D2T_SCORER_CRASH_AT"] = crash_at
    asked = [*AS, f"--reuid={USERS[who]}", *harness.command(shared / "in", shared / "out", shared / "bundle", *more)]
    return harness.execute(asked, code, cwd=shared, umask=0o002, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["output.synced", FRESH[0], "receipt.synced"])
def test_one_user_finishes_what_another_began(shared: Path, reference: Reference, point: str) -> None:
    as_user(0, shared, code=harness.CRASHED, crash_at=point)
    as_user(1, shared)
    harness.assert_same(shared / "out", reference[1])
    # And back: the first one replaces what the second one wrote.
    pq.write_table(harness.rows(70, 50_000), shared / "in" / "02.parquet")
    as_user(0, shared)
    harness.assert_nothing_half(shared / "out")
    assert harness.summary(shared / "out")["shards"]["done"] == 8
    as_user(1, shared)
