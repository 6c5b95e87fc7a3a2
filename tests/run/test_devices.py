"""What ``--devices`` asks for."""

from __future__ import annotations

import pytest

from scorer.errors import DeviceError, UsageError
from scorer.run.messages import Frames, Progress, Said, frame
from scorer.run.processes import parse_devices, share_of


def test_devices_are_named_or_all_of_the_machine() -> None:
    assert [slot.device for slot in parse_devices("all", 3, 1)] == ["cuda:0", "cuda:1", "cuda:2"]
    found = parse_devices("cuda:2, cuda:0", 0, 1)
    assert [(slot.device, slot.cpus) for slot in found] == [("cuda:2", 0), ("cuda:0", 0)]


def test_processes_share_the_cpu_equally() -> None:
    for count, cpus, shares in (
        (2, [0, 1, 2, 3], [[0, 1], [2, 3]]),
        (2, [4, 6, 7], [[4], [6]]),
        (3, [0, 1], [[0], [1], [0]]),
        (1, [0, 1], [[]]),  # all
        (2, [], [[], []]),
    ):
        slots = parse_devices(f"cpu:{count}", 0, len(cpus))
        assert [share_of(cpus, slot.number, slot.cpus) for slot in slots] == shares
        assert {slot.device for slot in slots} == {"cpu"}
    assert share_of([0, 1, 2], 1, 2) == [0, 2], "a node may give out more processors than a process may use"


def test_other_forms_are_refused_and_all_needs_a_gpu() -> None:
    for given in ("", "cpu", "cpu:0", "cpu:x", "cuda", "cuda:0,cuda:0", "cuda:0;cuda:1", "cpu:2,cuda:0"):
        with pytest.raises(UsageError, match="--devices"):
            parse_devices(given, 1, 1)
    with pytest.raises(DeviceError, match="no CUDA device was found"):
        parse_devices("all", 0, 1)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_messages_come_back_from_pieces_of_any_size(size: int) -> None:
    messages = [Said("é\n"), Progress("a", 1, 2), None]
    content = b"".join(map(frame, messages))
    frames = Frames()
    assert [one for at in range(0, len(content), size) for one in frames.read(content[at : at + size])] == messages
