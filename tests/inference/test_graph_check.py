"""The look into an ONNX file: what every writer makes passes, what reads other files or names other code does not."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from scorer.errors import BundleError
from scorer.inference import graph_check
from scorer.inference.graph_check import check_graph
from tests.bundles import graph

Change = Callable[[onnx.ModelProto], None]


def external(tensor: TensorProto, location: str) -> TensorProto:
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


def unmarked(tensor: TensorProto) -> TensorProto:
    """External data without the mark that says so."""
    tensor.external_data.add(key="location", value="x")
    return tensor


def empty() -> TensorProto:
    return TensorProto(name="t", dims=[1], data_type=TensorProto.FLOAT)


def test_weights_in_a_file_that_the_bundle_names(tmp_path: Path) -> None:
    """Only an initializer, only with that name, only with what locates it."""
    for change, message in (
        (lambda m: external(m.graph.initializer[0], "model.data"), None),
        (lambda m: external(m.graph.initializer[0], "other.data"), "'other.data', not one of its bundle"),
        (lambda m: external(m.graph.initializer[0], "./model.data"), "not one of its bundle"),
        (
            lambda m: external(m.graph.initializer[0], "model.data").external_data.add(key="checksum", value="x"),
            "'checks",
        ),
        (
            lambda m: external(m.graph.initializer[0], "model.data").external_data.add(key="offset", value="-1"),
            "at '-1'",
        ),
        (lambda m: external(external(m.graph.initializer[0], "model.data"), "model.data"), "described by 'location'"),
        (lambda m: m.graph.node.append(constant(external(empty(), "model.data"))), "external data"),
    ):
        model = graph(50)
        change(model)
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        if message is None:
            check_graph(path, ["model.data"])
        with pytest.raises(BundleError, match=message or "not one of its bundle"):
            check_graph(path, [] if message is None else ["model.data"])


def subgraph(node: onnx.NodeProto) -> onnx.NodeProto:
    return helper.make_node("If", ["c"], ["y"], then_branch=helper.make_graph([node], "inner", [], []))


def constant(tensor: TensorProto) -> onnx.NodeProto:
    return helper.make_node("Constant", [], ["y"], value=tensor)


def nested(node: onnx.NodeProto, depth: int) -> onnx.NodeProto:
    for _ in range(depth):
        node = subgraph(node)
    return node


SPARSE = onnx.SparseTensorProto(values=external(empty(), "x"), indices=empty())
HOSTILE: dict[str, tuple[Change, str]] = {
    "initializer": (lambda m: external(m.graph.initializer[0], "/etc/passwd") and None, "external data"),
    "unmarked": (lambda m: unmarked(m.graph.initializer[-1]) and None, "external data"),
    "attribute": (lambda m: m.graph.node.append(constant(external(empty(), "../x"))), "external data"),
    "attributes": (
        lambda m: m.graph.node.append(
            onnx.NodeProto(
                op_type="X",
                attribute=[onnx.AttributeProto(name="a", type="TENSORS", tensors=[external(empty(), "x")])],
            )
        ),
        "external data",
    ),
    "subgraph": (lambda m: m.graph.node.append(nested(constant(external(empty(), "x")), 3)), "external data"),
    "sparse": (lambda m: m.graph.sparse_initializer.append(SPARSE), "external data"),
    "domain": (lambda m: m.graph.node.append(helper.make_node("Run", [], ["y"], domain="evil.ops")), "evil.ops"),
    "domain in a subgraph": (
        lambda m: m.graph.node.append(subgraph(helper.make_node("Run", [], ["y"], domain="ai.onnx.contrib"))),
        "ai.onnx.contrib",
    ),
    "context": (
        lambda m: m.graph.node.append(helper.make_node("EPContext", [], ["y"], domain="com.microsoft")),
        "reads other files",
    ),
    "function": (lambda m: m.functions.append(onnx.FunctionProto(name="f", domain="d")), "functions"),
    "training": (lambda m: m.training_info.add() and None, "functions or training"),
    "depth": (lambda m: m.graph.node.append(nested(helper.make_node("Add", [], ["y"]), 20)), "deep"),
    "no graph": (lambda m: m.ClearField("graph"), "0 graphs"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_reaches_out_is_refused(name: str, tmp_path: Path) -> None:
    made = graph(50)
    change, says = HOSTILE[name]
    change(made)
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(BundleError, match=says) as caught:
        check_graph(path)
    assert "\n" not in str(caught.value)


def test_what_does_not_passes(tmp_path: Path) -> None:
    made = graph(50)
    made.graph.node.append(nested(helper.make_node("FusedGelu", [], ["y"], domain="com.microsoft"), 3))
    made.opset_import.append(helper.make_opsetid("org.pytorch.aten", 1))  # the runtime itself writes these
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    check_graph(path)


PARTS = {
    "empty": b"",
    "text": b"this is not a model",
    "beyond": b"\x3a\x7f",
    "endless number": b"\x3a" + b"\xff" * 11,
    "a group": b"\x3b\x00",
    "two graphs": b"\x3a\x00\x3a\x00",
    "a number for a graph": b"\x38\x01",
    # 7 << 3 | 2 with a bit above the 32nd: to some readers this is the graph, with external data in it.
    "a wide number": bytes([0xBA, 0x80, 0x80, 0x80, 0x80, 0x08]) + b"\x04\x2a\x02\x70\x01",
}


@pytest.mark.parametrize("name", PARTS)
def test_what_is_no_model_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(PARTS[name])
    with pytest.raises(BundleError, match=r"is no ONNX model|0 bytes|expected some"):
        check_graph(path)


class Counted(mmap.mmap):
    """Counts the bytes that are looked at."""

    looked = 0

    def __getitem__(self, key: Any) -> Any:
        Counted.looked += len(range(*key.indices(len(self)))) if isinstance(key, slice) else 1
        return super().__getitem__(key)


def test_a_gigabyte_of_weights_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_check.mmap, "mmap", Counted)
    path, size = tmp_path / "m.onnx", 1_400_000_000
    tensor = b"\x4a" + varint(size) + b""  # raw_data
    inner = b"\x2a" + varint(len(tensor) + size) + tensor
    with path.open("wb") as file:
        file.write(b"\x3a" + varint(len(inner) + size) + inner)
        file.truncate(file.tell() + size)
    check_graph(path)
    assert 0 < Counted.looked < 100
    with path.open("ab") as file:
        file.truncate((1 << 31) + 1)
    with pytest.raises(BundleError, match="at most 2 GiB"):
        check_graph(path)


def test_numbers_without_end_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    content = b"\x08\x01" * 2_100_000
    path.write_bytes(content)
    with pytest.raises(BundleError, match="more than 2,000,000 fields"):
        check_graph(path)


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_onnx_reads_as_hostile_is_seen(tmp_path: Path, data: st.DataObject) -> None:
    """Bytes flipped in a hostile file: either refused, or the ONNX library too sees nothing of the kind in it."""
    made = graph(3)
    external(made.graph.initializer[0], "/etc/passwd")
    content = bytearray(made.SerializeToString())
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    try:
        check_graph(path)
    except BundleError:
        return
    try:
        read = onnx.ModelProto.FromString(bytes(content))
    except Exception:
        return
    assert not any(t.external_data or t.data_location for t in read.graph.initializer)
