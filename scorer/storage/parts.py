"""How much of a run there is, where outputs are read.

Which outputs a place holds; whether they are all parts of one run (``--part k/n``), each there once; and how much of
the inputs they hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import OutputError, UsageError
from ..system.formats import SIGNATURE_KEY, SIGNATURE_PARTS_KEY
from .location import Location
from .plan import PLAN, Plan
from .receipts import canonical, line_parts
from .store import open_store

_MOST_NAMED = 3


def in_words(values: Sequence[object]) -> str:
    """The first few of some values."""
    named = ", ".join(str(value).encode("utf-8", "replace").decode() for value in values[:_MOST_NAMED])
    return f"{named} and {len(values) - _MOST_NAMED} more" if len(values) > _MOST_NAMED else named


@dataclass(frozen=True)
class Coverage:
    """How much of its inputs an output holds. ``limit``: rows that were scored, if ``--limit`` cut any. ``missing``:
    paths of the shards that were planned and not scored; ``planned``: how many were. ``missing_parts``: numbers of the
    parts that were not given, of ``parts`` in all. ``finished``: whether each output is finished (``_SUCCESS``)."""

    limit: int | None = None
    missing: tuple[str, ...] = ()
    planned: int = 0
    missing_parts: tuple[int, ...] = ()
    parts: int = 1
    finished: bool = True

    @property
    def reason(self) -> str | None:
        """What is missing, as a phrase; ``None`` when nothing is."""
        found = []
        if self.limit is not None:
            found.append(f"only the first {self.limit:,} rows were scored (--limit)")
        if self.missing_parts:
            found.append(
                f"{len(self.missing_parts):,} of {self.parts:,} parts are missing: {in_words(self.missing_parts)}"
            )
        if self.missing:
            found.append(f"{len(self.missing):,} of {self.planned:,} shards were not scored: {in_words(self.missing)}")
        elif not self.finished:
            found.append("the run did not finish")
        return "; ".join(found) or None

    @property
    def is_complete(self) -> bool:
        """Whether no shard is missing; the rows may be limited."""
        return self.finished and not self.missing and not self.missing_parts


def refuse_unequal(out: Coverage, baseline: Coverage, allowed: bool) -> None:
    """Refuse to compare outputs when one lacks rows that the other has.

    Two runs with the same limit compare: both hold the first rows.

    Raises:
        UsageError: says which of them is partial, and why.
    """
    if allowed or (out.limit == baseline.limit and out.is_complete and baseline.is_complete):
        return
    if out.reason is None:
        message = f"the baseline is partial ({baseline.reason}), and the output is complete"
    elif baseline.reason is None:
        message = f"the output is partial ({out.reason}), and the baseline is complete"
    else:
        message = f"the output is partial ({out.reason}), and so is the baseline, in another way ({baseline.reason})"
    raise UsageError(f"{message}: rows that were not scored would count as removed or added; score all, or pass "
                     "--allow-partial to compare them anyway")  # fmt: skip


def find_outputs(given: Iterable[Location]) -> list[Location]:
    """The outputs at some places: a place itself, or, if it has no plan, the outputs directly below it, such as the
    parts of a run.

    Raises:
        StoreError: a store cannot be read.
    """
    found: list[Location] = []
    for place in given:
        if isinstance(place, Path):
            below = [] if (place / PLAN).exists() or not place.is_dir() else sorted(place.iterdir())
            found += [child for child in below if (child / PLAN).is_file()] or [place]
            continue
        store = open_store(place, patient=False)
        names = [] if PLAN in store.list(PLAN) else store.list()
        below_store = [name.removesuffix(f"/{PLAN}") for name in names if name.endswith(f"/{PLAN}")]
        found += [place.below(name) for name in below_store if "/" not in name] or [place]
    return found


def check_parts(
    plans: Mapping[str, Plan | None],
    allow_partial: bool = False,
    advice: str = "name all of them, or the folder above them, or pass --allow-partial",
) -> tuple[int, ...]:
    """Refuse outputs that are not the parts of one run, each there once.

    Args:
        plans: by the name of the output. allow_partial: parts may be missing, and planned over other inputs.
        advice: what to do about a missing part, for the message.

    Returns:
        Numbers of the missing parts.

    Raises:
        OutputError: names two outputs that do not belong together, or the missing parts.
    """
    (first, plan), *others = plans.items()
    if plan is None or plan.part is None:
        if others:
            raise OutputError(
                f"{first} and {others[0][0]} are not parts of one run (--part): name one output, or all parts of one"
            )
        return ()
    numbers = {plan.part.number: first}
    for name, other in others:
        differs = _difference(plan, other, allow_partial)
        if differs:
            raise OutputError(f"{first} and {name} are not parts of one run: {differs}")
        assert other is not None and other.part is not None
        earlier = numbers.setdefault(other.part.number, name)
        if earlier != name:
            raise OutputError(f"part {other.part.number} of {plan.part.count} is there twice: {earlier} and {name}")
    missing = tuple(number for number in range(1, plan.part.count + 1) if number not in numbers)
    if missing and not allow_partial:
        raise OutputError(
            f"{in_words(tuple(plans))}: {len(missing):,} of {plan.part.count:,} parts are missing (part "
            f"{in_words(missing)}); {advice}"
        )
    return missing


def _difference(plan: Plan, other: Plan | None, allow_partial: bool) -> str:
    """Why two plans are not of parts of one run; empty if they are."""
    assert plan.part is not None
    if other is None or other.part is None:
        return "the second was scored without --part"
    if other.part.count != plan.part.count:
        return f"one is of {plan.part.count:,} parts and the other of {other.part.count:,}"
    if differs := signature_changes(signature_of_plan(plan), signature_of_plan(other)):
        return f"they were scored differently ({differs}); score one of them again"
    if other.part.shards != plan.part.shards and not allow_partial:
        return "they were run over different inputs; run all parts over the same inputs, or pass --allow-partial"
    return ""


def signature_of_plan(plan: Plan) -> tuple[str, str]:
    """Line of a signature, and its parts as canonical JSON."""
    return plan.signature, canonical(plan.signature_parts)


def signature_of_footer(metadata: Mapping[bytes, bytes] | None) -> tuple[str, str]:
    """Signature in a Parquet footer; its line is empty if there is none."""
    line, whole = (
        (metadata or {}).get(key.encode(), b"").decode(errors="replace") for key in (SIGNATURE_KEY, SIGNATURE_PARTS_KEY)
    )
    try:
        parts = json.loads(whole)
    except (ValueError, RecursionError):
        parts = None
    return line, canonical(parts if isinstance(parts, dict) else line_parts(line))


def signature_changes(one: tuple[str, str], other: tuple[str, str]) -> str:
    """In which parts two signatures differ, in words; empty if they are equal."""
    if one == other:
        return ""
    if not one[0] or not other[0]:
        return "one of them carries no signature"
    for a, b in ((line_parts(one[0]), line_parts(other[0])), (json.loads(one[1]), json.loads(other[1]))):
        if differs := [key for key in {**a, **b} if a.get(key) != b.get(key)]:
            return "; ".join(f"{key}: {a.get(key)} → {b.get(key)}" for key in differs)
    raise AssertionError("equal parts have one canonical form")
