"""SIGTERM at any moment of the start of a run: it ends in 143, or the run is finished."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.sweeps import sampled


@pytest.mark.parametrize("after_ms", sampled(range(5, 2005, 160), 5))
def test_sigterm_during_the_start(data: Path, tmp_path: Path, bundle: Path, after_ms: int) -> None:
    """Thirteen moments of the first two seconds; a library that is being loaded swallows exceptions."""
    command = [sys.executable, "-m", "scorer", "run", data, "--out", tmp_path / "out", "--bundle", bundle, "--json"]
    process = subprocess.Popen(
        [*map(str, command), "--max-error-rate", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(after_ms / 1000)
    process.send_signal(signal.SIGTERM)
    out, said = process.communicate()
    if process.returncode == 0:
        assert json.loads(out)["shards"]["done"] == 4 and (tmp_path / "out" / "_SUCCESS").exists()
    else:
        assert process.returncode in (143, -signal.SIGTERM), said.decode()
        assert b"Traceback" not in said and b"not installed" not in said
