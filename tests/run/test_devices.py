"""What ``--devices`` asks for."""

from __future__ import annotations

import pytest

from scorer.errors import DeviceError, UsageError
from scorer.run.processes import parse_devices


def test_devices_are_named_or_all_of_the_machine() -> None:
    assert [place.device for place in parse_devices("all", 3, [0])] == ["cuda:0", "cuda:1", "cuda:2"]
    found = parse_devices("cuda:2, cuda:0", 0, [0])
    assert [(place.device, place.cpus) for place in found] == [("cuda:2", ()), ("cuda:0", ())]


def test_processes_share_the_cpu_equally() -> None:
    for count, cpus, shares in (
        (2, [0, 1, 2, 3], [[0, 1], [2, 3]]),
        (2, [4, 6, 7], [[4], [6]]),
        (3, [0, 1], [[0], [1], [0]]),
        (1, [0, 1], [[]]),  # all
        (2, [], [[], []]),
    ):
        places = parse_devices(f"cpu:{count}", 0, cpus)
        assert [list(place.cpus) for place in places] == shares
        assert {place.device for place in places} == {"cpu"}


def test_other_forms_are_refused_and_all_needs_a_gpu() -> None:
    for given in ("", "cpu", "cpu:0", "cpu:x", "cuda", "cuda:0,cuda:0", "cuda:0;cuda:1", "cpu:2,cuda:0"):
        with pytest.raises(UsageError, match="--devices"):
            parse_devices(given, 1, [0])
    with pytest.raises(DeviceError, match="no CUDA device was found"):
        parse_devices("all", 0, [0])
