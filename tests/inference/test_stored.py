"""What this package stores: every kind survives encoding, and one file of each kind is read as it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.inference.facts import DeviceFacts, KeptBudget
from scorer.inference.manifest import CheckpointSource, EncoderManifest, Manifest, PairLayout, Parity, Variant
from scorer.inference.schemes import BINARY, LABELS, NLI, SCORE, Scheme
from scorer.system.codec import decode, encode

FIXTURES = Path(__file__).parent / "fixtures"
KINDS: dict[str, Any] = {
    "classifier.json": Manifest,
    "encoder.json": EncoderManifest,
    "facts.json": DeviceFacts,
    "budget.json": KeptBudget,
}

# What os.fsdecode makes of any bytes, and strings that look like escapes.
names = st.one_of(
    st.binary(max_size=8).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.text(alphabet="%25F8EA0\udcff\udc80é", max_size=12),
)
shown = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=12)
files = shown.map(lambda name: name.replace("/", "-"))
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
figures = st.floats(0, 1e30)
shares = st.floats(0, 1)
ids = st.lists(st.integers(0, 2**31 - 1), max_size=3).map(tuple)
layouts = st.builds(PairLayout, ids, ids, ids, st.integers(0, 2**31 - 1), st.booleans(), st.booleans(), st.booleans())
schemes = st.one_of(
    st.permutations(LABELS).map(lambda labels: Scheme(NLI, tuple(labels))),
    st.builds(lambda a, threshold: Scheme(BINARY, (a, a + "x"), a, threshold), shown, st.floats(0.01, 0.99)),
    st.builds(lambda a, threshold: Scheme(SCORE, (a,), None, threshold), shown, st.floats(0.01, 0.99)),
)
parities = st.builds(
    Parity, provider=names, pairs=st.integers(0, 2**40), label_agreement=shares, max_abs_logit=figures,
    max_abs_probability=shares, bound=figures, within_margin=shares,
)  # fmt: skip
variants = st.builds(
    Variant, file=files.map("{}.onnx".format), precision=st.sampled_from(["fp32", "fp16", "int8"]),
    layout=st.sampled_from(["padded", "packed"]), sha256=digests, bytes=st.integers(0, 2**40),
    external=st.dictionaries(files.map("{}.data".format), digests, max_size=2), opset=st.integers(1, 30),
    inputs=st.lists(names, max_size=3).map(tuple), fused=st.dictionaries(names, st.integers(0, 99), max_size=2),
    parity=st.none() | parities,
)  # fmt: skip
described = {
    "name": shown,
    "source": st.builds(
        CheckpointSource, checkpoint=names, revision=st.none() | names, random_init=st.booleans(),
        seed=st.none() | st.integers(0, 2**53), files=st.dictionaries(names, digests, max_size=2),
    ),
    "forced": st.lists(names, max_size=2).map(tuple),
    "architecture": st.dictionaries(names, names | st.integers(0, 2**53), max_size=2),
    "max_length": st.integers(8, 1 << 20),
    "versions": st.dictionaries(names, names, max_size=2),
}  # fmt: skip
manifests = st.builds(
    Manifest, **described, scheme=schemes, pair_layout=layouts,
    files=st.fixed_dictionaries({"tokenizer.json": digests, "probes.parquet": digests}),
    variants=st.lists(variants, min_size=1, max_size=3).map(lambda found: {one.key: one for one in found}),
)  # fmt: skip
encoders = st.builds(
    EncoderManifest, **described, pair_layout=st.builds(PairLayout, ids, st.just(()), ids, st.just(1),
    one_string=st.just(True)), blank_first=st.booleans(), layer=st.integers(1, 99), width=st.integers(1, 4096),
    model=st.just("m.onnx"), files=st.fixed_dictionaries({"tokenizer.json": digests, "m.onnx": digests}),
)  # fmt: skip
facts = st.builds(
    lambda probes, agreement, bound, company: DeviceFacts(probes, agreement, bound, company, company == 0),
    st.integers(1, 2**40), shares, figures, figures,
)  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # other work may take the processors
@given(st.one_of(manifests, encoders, facts, st.builds(KeptBudget, st.integers(0, 2**40))))
def test_what_is_stored_survives_encoding(stored: Any) -> None:
    data = encode(stored, indent=1)
    data.decode("utf-8")
    assert decode(data, type(stored), "x") == stored


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_each_kind_is_read_and_written_again(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    assert encode(decode(data, KINDS[name], name), indent=1) + b"\n" == data
