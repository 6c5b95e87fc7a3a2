from __future__ import annotations

import os
from pathlib import Path

import pytest

from scorer.system.process_marks import has_ended, own_mark

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells enough of a process")


def test_a_process_that_runs_has_not_ended_and_a_number_that_none_has_did() -> None:
    mark = own_mark()
    assert mark.endswith(f":{Path('/proc/self/stat').read_text().rpartition(')')[2].split()[19]}")
    assert not has_ended(mark)
    most = int(Path("/proc/sys/kernel/pid_max").read_text())
    assert has_ended(mark.replace(f":{os.getpid()}:", f":{most + 1}:"))


def test_a_process_that_cannot_be_seen_may_run() -> None:
    """Under another kernel, in another namespace, or a mark that none of this program is."""
    place, _, rest = own_mark().rpartition(f":{os.getpid()}:")
    host, boot, namespace = place.rsplit(":", 2)
    for other in (f"{host}:{boot}:1", f"{host}:0:{namespace}", f"x{host}:{boot}:{namespace}"):
        assert not has_ended(f"{other}:{os.getpid()}:{rest}0")
    for strange in (None, "", 7, ":", "a:b", f"{place}:-1:{rest}", f"{place}::{rest}"):
        assert not has_ended(strange)
