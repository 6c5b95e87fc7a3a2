"""SIGTERM at any moment of the start of a run: it ends in 143, or the run is finished."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.harness import launch, summary
from tests.sweeps import sampled


@pytest.mark.parametrize("after_ms", sampled(range(5, 2005, 160), 5))
def test_sigterm_during_the_start(data: Path, tmp_path: Path, bundle: Path, after_ms: int) -> None:
    """Thirteen moments of the first two seconds; a library that is being loaded swallows exceptions."""
    out = tmp_path / "out"
    process = launch(data, out, bundle)
    with suppress(subprocess.TimeoutExpired):
        process.wait(after_ms / 1000)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    if process.returncode == 0:
        assert summary(out)["shards"]["done"] == 4 and (out / "_SUCCESS").exists()
    else:
        assert process.returncode in (143, -signal.SIGTERM), said
        assert "Traceback" not in said and "not installed" not in said
