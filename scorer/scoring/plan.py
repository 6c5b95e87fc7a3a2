"""The content of ``_plan.json``: all that an output's bytes depend on, and how to ask again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any

from ..errors import DamagedFileError
from ..inference.engine import ExactBound
from ..storage import InputRecord, SeenOutput
from ..storage.location import Location
from ..storage.plan import PLAN
from ..system.codec import Count, Record, decode, encode
from ..system.formats import PLAN_SCHEMA
from .signature import Signed


class Budgets(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What windows and batches are cut by: rows and bytes of a window, rows of the first windows of a shard, tokens of
    a batch, the step of padded lengths, threads, the measured bound of ``--exact``, and on a device that has a choice
    of them the layout of a call and its attention. ``None`` where no earlier run chose."""

    window_rows: Count | None = None
    window_bytes: Count | None = None
    batch_tokens: Count | None = None
    length_step: Count | None = None
    threads: Count | None = None
    exact: ExactBound | None = None
    layout: str | None = None
    attention: str | None = None
    first_rows: tuple[Count, ...] | None = None


class PlannedReuse(Record, frozen=True):
    """An earlier output whose labels a run may take over. ``shards``: those believed; ``digest``: of their receipts."""

    out: str
    signature: str
    shards: Count
    digest: str


class Plan(Signed, Record, frozen=True, kw_only=True, dict=True):
    """A plan.

    ``inputs``: by the relative path of their output. ``device``: its kind and name; ``provider``, ``runtime``: the
    execution provider and the version of ONNX Runtime; ``versions``: of the packages that scores pass through.
    ``limit``: rows to score, all when ``None``. ``parts``: how many processes share the shards.
    ``settings``: how the scorer was set up, in the form in which JSON gives it back.
    ``split_rows``: rows of a piece at most; ``None`` where shards are not divided.
    """

    schema: int = PLAN_SCHEMA
    inputs: Mapping[str, InputRecord]
    budgets: Budgets
    device: str
    provider: str
    runtime: str
    versions: Mapping[str, str]
    limit: Count | None
    parts: Count | None
    settings: Mapping[str, Any]
    reuse: tuple[PlannedReuse, ...]
    split_rows: Count | None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its content, as hex; computed once, because every receipt names it."""
        return sha256(encode(self, canonical=True)).hexdigest()

    @property
    def content(self) -> bytes:
        """What ``_plan.json`` holds."""
        return encode(self, indent=1)

    @classmethod
    def load(cls, out: Location | SeenOutput) -> Plan | None:
        """The plan of an output; ``None`` where there is none.

        Raises:
            SchemaError: another version of this program wrote it. DamagedFileError: names the field.
        """
        output = out if isinstance(out, SeenOutput) else SeenOutput(out)
        content = output.read(PLAN)
        return decode(content, cls, output.store.uri(PLAN)) if content is not None else None

    @classmethod
    def usable(cls, out: Location | SeenOutput, say: Callable[[str], None] = lambda message: None) -> Plan | None:
        """A plan as a run reads it, which writes a damaged one again: ``None`` for such a plan too.

        Args:
            say: told what is wrong with it.

        Raises:
            SchemaError: another version of this program wrote it.
        """
        try:
            return cls.load(out)
        except DamagedFileError as error:
            say(str(error))
            return None
