"""The earlier outputs that a run may reuse, judged against tonight's signature."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...metric.inputs import ColumnNames, output_schema
from ..signature import Signature, differences
from .earlier import EarlierOutput, Wanted, open_earlier

KEY, LABELLED = "row_key", "fine"
_NOT_LABELS = ("reused",)
NOISE = 1e-4
"""|Δlogit| below which a difference is not reported. That a pair's numbers do not depend on its batch was measured on
probes, and a row may be the first to differ in its last bits; a label that was changed or mixed up differs by far
more."""


@dataclass(frozen=True)
class Origin:
    """Where labels were computed, and how far logits stray there; kept in ``_run.json`` as ``origins``.

    ``device``: kind, name and threads. ``runtime``: version of ONNX Runtime. ``bound``: largest |Δlogit| against the
    checkpoint's fp32; ``company_bound``: with the company in a batch. See :class:`scorer.inference.verify.DeviceFacts`.
    ``exact``: the margin below which pairs ran again in fp32, if they did; it is measured on the data of each run, so a
    pair may come from another variant than in an earlier run.
    """

    device: dict[str, Any]
    runtime: str
    bound: float
    company_bound: float
    exact: float | None = None

    def allowed(self, other: Origin) -> float:
        """The largest |Δlogit| between here and there that measured bounds explain.

        Each may stray from fp32 by its bound. On one device, where a pair's numbers are its own, no more than
        :data:`NOISE` is left of that.
        """
        same = (self.device, self.runtime, self.exact) == (other.device, other.runtime, other.exact)
        isolated = self.company_bound == 0.0 == other.company_bound
        return min(self.bound + other.bound, NOISE if same and isolated else float("inf"))


@dataclass
class Sources:
    """Earlier outputs in the order given. ``now``: where this run computes. ``labels``: columns that are taken over."""

    outputs: list[EarlierOutput]
    signature: Signature
    now: Origin
    labels: pa.Schema
    keys: list[int] | None = field(default=None)
    """Rows that each output serves, once that is known."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the receipts of all shards that serve, as hex; empty when none does."""
        if not any(output.shards for output in self.outputs):
            return ""
        return hashlib.sha256(json.dumps([output.digest for output in self.outputs]).encode("ascii")).hexdigest()

    def planned(self) -> list[dict[str, Any]]:
        """What ``_plan.json`` records of them."""
        return [
            {
                "out": str(output.out.resolve()),
                "signature": output.plan.get("signature"),
                "shards": len(output.shards),
                "digest": output.digest,
            }
            for output in self.outputs
        ]

    def summary(self) -> list[dict[str, Any]]:
        """What ``_run.json`` says of them. ``keys`` is null where nothing was left to score, so that none was read."""
        return [
            {
                "out": str(output.out),
                "signature_equal": Signature.of_plan(output.plan) == self.signature,
                "differs": differences(Signature.of_plan(output.plan), self.signature),
                "keys": None if self.keys is None else self.keys[i],
                "shards_used": len(output.shards),
                "shards_refused": output.refused,
            }
            for i, output in enumerate(self.outputs)
        ]

    def say(self, tell: Callable[[str], None]) -> None:
        """Tell people what is reused, and why not."""
        for output in self.outputs:
            rows = sum(shard.rows for shard in output.shards)
            told = f"--reuse {output.out}: {len(output.shards)} shards with {rows:,} rows"
            if differs := differences(Signature.of_plan(output.plan), self.signature):
                told += f"; its signature differs ({', '.join(differs)})"
            if output.refused:
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in output.refused.items())
                told += f"; shards not used: {reasons}"
            tell(told)

    def bounds(self) -> list[float]:
        """For each output, the largest |Δlogit| that measured bounds explain between its labels and tonight's.

        Without a ``_run.json`` that names where its labels come from, they may come from anywhere, and are allowed
        twice the bound of this device.
        """
        found = []
        for output in self.outputs:
            origins = _origins(output.run)
            found.append(max((origin.allowed(self.now) for origin in origins), default=2 * self.now.bound))
        return found

    def origins(self) -> list[dict[str, Any]]:
        """What ``_run.json`` says of where its labels come from: here, and where those of the outputs that serve do."""
        found = [self.now]
        for output in self.outputs:
            if output.shards:
                found += [origin for origin in _origins(output.run) if origin not in found]
        return [asdict(origin) for origin in found]


def open_sources(paths: Sequence[Path], signature: Signature, names: ColumnNames, now: Origin) -> Sources:
    """Verify the shards of earlier outputs.

    Raises:
        OutputError: a plan or a receipt is there and cannot be read.
    """
    labels = pa.schema([column for column in output_schema(names) if column.name not in _NOT_LABELS])
    fingerprint = {"signature": signature.line, "signature_parts": signature.parts}
    wanted = Wanted(fingerprint, signature.footer, labels, KEY)
    return Sources([open_earlier(path, wanted) for path in paths], signature, now, labels)


def _origins(run: dict[str, Any]) -> list[Origin]:
    """The origins in a ``_run.json``; none when they are not of the form that a run writes."""
    given = run.get("origins")
    if not isinstance(given, list):
        return []
    found = []
    for one in given:
        if not isinstance(one, dict) or one.keys() != Origin.__dataclass_fields__.keys():
            return []
        figures = (one["bound"], one["company_bound"])
        if any(isinstance(figure, bool) or not isinstance(figure, (int, float)) for figure in figures):
            return []
        found.append(Origin(**one))
    return found
