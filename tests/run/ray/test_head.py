from __future__ import annotations

import socket

import pytest

from scorer.errors import DeviceError
from scorer.run.ray.head import Head, answers


def test_a_head_that_comes_back_is_waited_for_and_one_that_is_gone_is_named() -> None:
    said, now = [""], [0.0]
    head = Head("10.0.0.1:6379", lambda address: said[0], lambda: now[0])
    assert head.is_there()
    said[0] = "Connection refused"
    for now[0] in (1.0, 10.0, 20.0):
        assert not head.is_there()
    said[0] = ""
    assert head.is_there()
    said[0] = "Connection refused"
    for now[0] in (21.0, 41.0):
        assert not head.is_there()
    now[0] = 42.0
    with pytest.raises(DeviceError, match=r"the head of the cluster, 10\.0\.0\.1:6379, is gone \(Connection refused\)"):
        head.is_there()


def test_an_address_answers_or_says_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert answers(address) == ""
    assert "refused" in answers(address)
    assert answers("auto") == ""
    assert answers("127.0.0.1:99999999999") != ""
