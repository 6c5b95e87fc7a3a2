"""The content of ``_run.json``: how a run went, and what its output holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import OutputError
from ..inference.exact import ExactBound
from ..storage.counts import Counts
from ..storage.durable import read_json
from ..storage.finished import RUN
from ..system.formats import PLAN_SCHEMA
from ..system.json_fields import Fields
from .origin import Device, Origin
from .signature import Signature


@dataclass(frozen=True)
class ShardCounts:
    """Shards that are done, those of them that this run found done (``skipped``), set aside, and not done."""

    done: int = 0
    skipped: int = 0
    failed: int = 0
    missing: int = 0

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        content: dict[str, object] = {"done": self.done, "skipped": self.skipped, "failed": self.failed}
        return {**content, "missing": self.missing} if self.missing else content

    @classmethod
    def from_json(cls, found: Fields) -> ShardCounts:
        """From a JSON object; see :class:`Fields` for errors."""
        return cls(found.count("done"), found.count("skipped"), found.count("failed"), found.count("missing"))


@dataclass(frozen=True)
class Speed:
    """How fast a process scored. ``seconds``: from its first window to its last receipt. ``padding``, ``duplicates``:
    shares of tokens and of checks. ``utilisation``: operations of the model on real tokens over the device's own rate
    in matrix products; ``None`` where it was not measured. ``shapes``: pairs, sequence length and number of the most
    frequent calls."""

    seconds: float = 0.0
    rows_per_s: float = 0.0
    unique_pairs_per_s: float = 0.0
    real_tokens_per_s: float = 0.0
    padding: float = 0.0
    duplicates: float = 0.0
    model_flops_per_s: float | None = None
    matrix_flops_per_s: float | None = None
    utilisation: float | None = None
    shapes: tuple[tuple[int, ...], ...] | None = None

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        shapes = None if self.shapes is None else [list(shape) for shape in self.shapes]
        return {**asdict(self), "shapes": shapes}

    @classmethod
    def from_json(cls, found: Fields) -> Speed:
        """From a JSON object; see :class:`Fields` for errors."""
        return cls(
            found.magnitude("seconds") or 0.0,
            found.magnitude("rows_per_s") or 0.0,
            found.magnitude("unique_pairs_per_s") or 0.0,
            found.magnitude("real_tokens_per_s") or 0.0,
            found.magnitude("padding") or 0.0,
            found.magnitude("duplicates") or 0.0,
            found.magnitude("model_flops_per_s"),
            found.magnitude("matrix_flops_per_s"),
            found.magnitude("utilisation"),
            found.count_table("shapes"),
        )


@dataclass(frozen=True)
class ReusedOutput:
    """What an earlier output contributed. ``differs``: parts of its signature that are not this run's. ``keys``: rows
    that it offers, ``None`` where nothing was left to score. ``shards_refused``: those not believed, by reason."""

    out: str
    signature_equal: bool
    differs: tuple[str, ...]
    keys: int | None
    shards_used: int
    shards_refused: Mapping[str, int]

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {
            "out": self.out,
            "signature_equal": self.signature_equal,
            "differs": list(self.differs),
            "keys": self.keys,
            "shards_used": self.shards_used,
            "shards_refused": dict(self.shards_refused),
        }

    @classmethod
    def from_json(cls, found: Fields) -> ReusedOutput:
        """From a JSON object; see :class:`Fields` for errors."""
        return cls(
            found.text("out"),
            found.flag("signature_equal"),
            found.text_list("differs"),
            found.optional_count("keys"),
            found.count("shards_used"),
            found.counts("shards_refused"),
        )


@dataclass(frozen=True)
class Recheck:
    """Reused rows that were scored again, how many disagreed, and the |Δ probability| that was allowed, if any was."""

    rows: int = 0
    disagreed: int = 0
    bound: float | None = None

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {"rows": self.rows, "disagreed": self.disagreed, "bound": self.bound}

    @classmethod
    def from_json(cls, found: Fields) -> Recheck:
        """From a JSON object; see :class:`Fields` for errors."""
        return cls(found.count("rows"), found.count("disagreed"), found.magnitude("bound"))


@dataclass(frozen=True)
class RunSummary:
    """How a run went.

    ``counts``: of all shards that are done. ``seconds``: by stage. ``computed_now``: pairs that this process computed.
    ``speed``: ``None`` only in files of earlier versions, as ``bound`` and ``invariance_error``, the largest |Δlogit|
    against fp32 and with the other pairs of a batch. ``exact``: the bound of ``--exact``. ``origins``: where the labels
    were computed. ``reuse``: the earlier outputs given. ``finished``: when, UTC, ISO 8601.
    """

    signature: Signature
    counts: Counts = field(default_factory=Counts)
    shards: ShardCounts = field(default_factory=ShardCounts)
    seconds: Mapping[str, float] = field(default_factory=dict)
    computed_now: int = 0
    speed: Speed | None = None
    exact: ExactBound | None = None
    device: Device = field(default_factory=lambda: Device("", ""))
    bound: float | None = None
    invariance_error: float | None = None
    origins: tuple[Origin, ...] = ()
    reuse: tuple[ReusedOutput, ...] = ()
    recheck: Recheck = field(default_factory=Recheck)
    versions: Mapping[str, str] = field(default_factory=dict)
    finished: str = ""

    def to_json(self) -> dict[str, object]:
        """As the content of ``_run.json``."""
        return {
            "schema": PLAN_SCHEMA,
            **self.signature.to_json(),
            **self.counts.to_json(),
            "shards": self.shards.to_json(),
            "seconds": dict(self.seconds),
            "computed_now": self.computed_now,
            "speed": None if self.speed is None else self.speed.to_json(),
            "exact": None if self.exact is None else asdict(self.exact),
            "device": self.device.to_json(),
            "bound": self.bound,
            "invariance_error": self.invariance_error,
            "origins": [one.to_json() for one in self.origins],
            "reuse": [one.to_json() for one in self.reuse],
            "recheck": self.recheck.to_json(),
            "versions": dict(self.versions),
            "finished": self.finished,
        }

    @classmethod
    def from_json(cls, found: Fields) -> RunSummary:
        """From the fields of ``_run.json``, of which earlier versions wrote fewer.

        Raises:
            OutputError: a field is of another type; names it.
        """
        found.required_inner("rows").required_count("in")
        speed = found.optional_inner("speed")
        return cls(
            Signature.from_json(found),
            Counts.from_json(found),
            ShardCounts.from_json(found.inner("shards")),
            found.magnitudes("seconds"),
            found.count("computed_now"),
            Speed.from_json(speed) if speed is not None else None,
            ExactBound.read(found.content.get("exact")),
            Device.from_json(found.inner("device")),
            found.magnitude("bound"),
            found.magnitude("invariance_error"),
            _origins(found),
            tuple(map(ReusedOutput.from_json, found.items("reuse"))),
            Recheck.from_json(found.inner("recheck")),
            found.texts("versions"),
            found.text("finished"),
        )

    @classmethod
    def load(cls, out: Path) -> RunSummary | None:
        """The summary in an output folder; ``None`` where there is none, or it does not say how many rows it is of.

        Raises:
            OutputError: it is there and cannot be read, or a field is damaged; names it.
        """
        return cls.parse(read_json(out / RUN), str(out))

    @classmethod
    def parse(cls, content: object, where: str) -> RunSummary | None:
        """The summary in the content of ``_run.json``; see :meth:`load`. ``where``: the output, for messages."""
        if not isinstance(content, dict) or "rows" not in content:
            return None
        return cls.from_json(Fields(content, f"{where}/{RUN}"))


def origins_in(content: object, where: str) -> tuple[Origin, ...]:
    """Where the labels of an output were computed, as the content of its ``_run.json`` says; empty where that does not
    say. ``where``: the output, for messages."""
    return _origins(Fields(content, f"{where}/{RUN}")) if isinstance(content, dict) else ()


def _origins(found: Fields) -> tuple[Origin, ...]:
    """The origins; none when one is not of the form that a run writes: then labels may come from anywhere."""
    try:
        return tuple(map(Origin.from_json, found.items("origins")))
    except OutputError:
        return ()
