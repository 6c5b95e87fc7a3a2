"""The content of ``_plan.json``: all that an output's bytes depend on, and how to ask again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property

from ..errors import OutputError
from ..inference.exact import ExactBound
from ..storage import InputRecord, SeenOutput
from ..storage.canonical import digest, normal
from ..storage.objects.uri import Location
from ..system.formats import PLAN_SCHEMA
from ..system.json_fields import Fields
from .signature import Signature


@dataclass(frozen=True)
class Budgets:
    """What windows and batches are cut by: rows and bytes of a window, rows of the first windows of a shard, tokens of
    a batch, the step of padded lengths, threads, the measured bound of ``--exact``, and on a device that has a choice
    of them the layout of a call and its attention. ``None`` where no earlier run chose."""

    window_rows: int | None = None
    window_bytes: int | None = None
    batch_tokens: int | None = None
    length_step: int | None = None
    threads: int | None = None
    exact: ExactBound | None = None
    layout: str | None = None
    attention: str | None = None
    first_rows: tuple[int, ...] | None = None

    def to_json(self) -> dict[str, object]:
        """As a JSON object, without what is ``None``."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, found: Fields) -> Budgets:
        """From a JSON object; see :class:`Fields` for errors. A bound that is none is measured again."""
        return cls(
            found.optional_count("window_rows"),
            found.optional_count("window_bytes"),
            found.optional_count("batch_tokens"),
            found.optional_count("length_step"),
            found.optional_count("threads"),
            ExactBound.read(found.content.get("exact")),
            found.optional_text("layout"),
            found.optional_text("attention"),
            found.optional_counts("first_rows"),
        )


@dataclass(frozen=True)
class PlannedReuse:
    """An earlier output whose labels a run may take over. ``shards``: those believed; ``digest``: of their receipts."""

    out: str
    signature: str
    shards: int
    digest: str

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {"out": self.out, "signature": self.signature, "shards": self.shards, "digest": self.digest}

    @classmethod
    def from_json(cls, found: Fields) -> PlannedReuse:
        """From a JSON object; see :class:`Fields` for errors."""
        return cls(found.text("out"), found.text("signature"), found.count("shards"), found.text("digest"))


@dataclass(frozen=True)
class Plan:
    """A plan.

    ``inputs``: by the relative path of their output. ``provider``, ``runtime``: the execution provider and the version
    of ONNX Runtime. ``limit``: rows to score, all when ``None``. ``parts``: how many processes share the shards.
    ``settings``: how the scorer was set up, in the form in which JSON gives it back.
    ``split_rows``: rows of a piece at most; ``None`` where shards are not divided.
    """

    signature: Signature
    inputs: Mapping[str, InputRecord]
    budgets: Budgets = field(default_factory=Budgets)
    provider: str = ""
    runtime: str = ""
    limit: int | None = None
    parts: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    reuse: tuple[PlannedReuse, ...] = ()
    split_rows: int | None = None

    def to_json(self) -> dict[str, object]:
        """As the content of ``_plan.json``."""
        content: dict[str, object] = {
            "schema": PLAN_SCHEMA,
            **self.signature.to_json(),
            "inputs": {name: one.to_json() for name, one in self.inputs.items()},
            "budgets": self.budgets.to_json(),
            "provider": self.provider,
            "runtime": self.runtime,
            "limit": self.limit,
            "parts": self.parts,
            "settings": dict(self.settings),
            "reuse": [one.to_json() for one in self.reuse],
        }
        if self.split_rows is not None:
            content["split_rows"] = self.split_rows
        read_back: dict[str, object] = normal(content)
        return read_back

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its content, as hex; computed once, because every receipt names it."""
        return digest(self.to_json())

    @classmethod
    def from_json(cls, found: Fields) -> Plan:
        """From the fields of ``_plan.json``, of which earlier versions wrote fewer.

        Raises:
            OutputError: a field is of another type; names it.
        """
        return cls(
            Signature.from_json(found),
            {name: InputRecord.from_json(one) for name, one in found.each("inputs").items()},
            Budgets.from_json(found.inner("budgets")),
            found.text("provider"),
            found.text("runtime"),
            found.optional_count("limit"),
            found.optional_count("parts"),
            dict(found.inner("settings").content),
            tuple(map(PlannedReuse.from_json, found.items("reuse"))),
            found.optional_count("split_rows"),
        )

    @classmethod
    def load(cls, out: Location) -> Plan | None:
        """The plan of an output folder; ``None`` where there is none, or the file is no JSON object.

        Raises:
            OutputError: it was written by a newer version, or a field is damaged; names it.
        """
        found = SeenOutput(out).read_plan()
        return cls.from_json(found) if found is not None else None

    @classmethod
    def usable(cls, found: Fields | None) -> Plan | None:
        """A plan as a run reads it, which writes a damaged one again: ``None`` for such a plan too."""
        try:
            return cls.from_json(found) if found is not None else None
        except OutputError:
            return None
