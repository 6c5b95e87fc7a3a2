"""What a run finds before it writes anything, as ``scorer plan`` does: its inputs, and the outputs that are there.

A run never removes an output, nor replaces one by fewer rows, unless it was told to prune. So both are found before
anything is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from ..errors import OutputError, ShardError
from ..inference.choices import BUILTIN_BUNDLES
from ..scoring.plan import Plan
from ..scoring.reuse.earlier import check_earlier
from ..scoring.signature import Signature
from ..scoring.windows import ShardColumns
from ..storage import (
    InputRecord,
    Receipts,
    SeenOutput,
    ShardReader,
    check_apart,
    inspect_output,
    resolve_inputs,
)
from ..storage.location import Location
from ..storage.pieces import shard_of
from ..storage.receipts_old import NO_RECEIPT
from .early_check import refuse_unscorable
from .options import RunOptions
from .survey import Shard, Survey, inputs_of, survey

_NAMED = 3


@dataclass(frozen=True)
class Outlook:
    """What is there before a run. ``reader``: of the inputs that were ``found``. ``output``: what is at OUT, with the
    ``plan`` of it; ``None`` where there is none. ``reused``: the outputs of ``--reuse``."""

    found: Survey
    reader: ShardReader
    output: SeenOutput | None
    plan: Plan | None
    reused: Sequence[Location]


@contextmanager
def look(
    options: RunOptions,
    out: Location | None,
    find_columns: Callable[[pa.Schema], ShardColumns],
    say: Callable[[str], None],
) -> Iterator[Outlook]:
    """Look at inputs and output. The reader is open until the context ends.

    Args:
        out: the output, if there is to be one.
        say: is told what people should know of them.

    Raises:
        ScorerError: they cannot be used, or not one of the first rows can be scored.
    """
    files = resolve_inputs(options.inputs, options.form)
    output = None
    if out is not None:
        check_apart(options.inputs, out, options.form)
        output = SeenOutput(out) if inspect_output(out) == "ours" else None
    reused = check_earlier(options.reuse, out)
    plan = Plan.usable(output, say) if output is not None else None
    with ShardReader(form=options.form, delimiter=options.delimiter, split_rows=options.split_rows) as reader:
        found = survey(files, reader, find_columns, options.limit, plan)
        refuse_unscorable(found, reader, options.max_error_rate, say)
        yield Outlook(found, reader, output, plan, reused)


@dataclass(frozen=True)
class Losses:
    """Outputs that would be lost. ``outside``: relative paths of those whose input is not among the inputs.
    ``shorter``: by relative path, the rows there and the rows that would replace them; all pieces of a shard count as
    one output. ``divided``: relative paths of outputs whose input would be divided in another way."""

    outside: list[str] = field(default_factory=list)
    shorter: dict[str, tuple[int, int]] = field(default_factory=dict)
    divided: list[str] = field(default_factory=list)

    def refuse(self, out: Location, *, limited: bool, parts: bool) -> None:
        """Refuse a run that was not told to prune.

        Args:
            limited, parts: the run has a ``--limit``, or is one of several parts; pruning is not offered then.

        Raises:
            OutputError: something would be lost; says what, and the ways out.
        """
        told = []
        if self.outside:
            told.append(f"{_count(len(self.outside), 'output')} whose input is not among IN ({named(self.outside)})")
        if self.shorter:
            first, (before, after) = next(iter(self.shorter.items()))
            told.append(
                f"{_count(len(self.shorter), 'output')} with more rows than would replace them ({first}: "
                f"{before:,} rows, now {after:,})"
            )
        if self.divided:
            told.append(
                f"{_count(len(self.divided), 'output')} of inputs that would be divided in another way "
                f"({named(self.divided)}; give the --split-rows of the earlier run, or score into another --out with "
                "--reuse)"
            )
        if not told:
            return
        if limited:
            way = "leave --limit out, or choose another --out"
        elif parts:
            way = "run once with --prune and without --part to remove or replace them, or choose another --out"
        else:
            way = "--prune removes and replaces them; or choose another --out"
        raise OutputError(f"{out} holds {' and '.join(told)}; nothing was written: {way}")


def refuse_rescore(output: SeenOutput, todo: Iterable[Shard], signature: Signature) -> None:
    """Refuse a run that would replace labels because the bundle, the templates or an option changed.

    Raises:
        OutputError: a shard that is to be scored has a whole receipt under another signature; names both.
    """
    for shard in todo:
        receipt = output.receipts.read(shard.file.relative)
        if receipt is None or signature.is_of(receipt.fingerprint) or not output.receipts.is_intact(receipt):
            continue
        own = ""
        if str(signature.model) in {one.model for one in BUILTIN_BUNDLES.values()}:
            own = " (the bundle is one that ships with this program; another version of it may have another model)"
        raise OutputError(
            f"{output.path} has labels under the signature {receipt.fingerprint.signature}, and this run has "
            f"{signature.line}{own}; nothing was written: pass --rescore to replace them, or choose another --out"
        )


def losses_of(
    output: SeenOutput,
    present: Plan | None,
    planned: Mapping[str, InputRecord],
    todo: Iterable[Shard],
    stored: Mapping[str, str],
    reader: ShardReader,
) -> Losses:
    """Look at the outputs that shards would replace.

    Args:
        present: the plan that is there.
        planned: all inputs by the relative path of their output, those included that cannot be read.
        stored: by relative path, the outputs that are there, with the path or URI of each.
    """
    there: Counter[str] = Counter()
    then: Counter[str] = Counter()
    for shard in todo:
        name, uri = _shard_name(shard.file.relative, planned), stored.get(shard.file.relative)
        there[name] += _rows_there(uri, shard.file.relative, output.receipts, reader) if uri is not None else 0
        then[name] += shard.rows
    outside = output.outside_of(planned.keys())
    divided = _divided(outside, planned, present)
    shorter = {name: (rows, then[name]) for name, rows in there.items() if rows > then[name]}
    return Losses(sorted(set(outside).difference(divided)), shorter, divided)


def removals(removed: Sequence[str], planned: Mapping[str, InputRecord], present: Plan | None) -> list[str]:
    """What to say of outputs that were removed, a line for each. ``present``: the plan that was there."""
    divided = _divided(removed, planned, present)
    return [
        f"removed {name}: its input is {'divided in another way now' if name in divided else 'gone'}"
        for name in removed
    ]


def _divided(outputs: Sequence[str], planned: Mapping[str, InputRecord], present: Plan | None) -> list[str]:
    """Those of some outputs that are not planned whose shard is planned, in other pieces or as a whole."""
    if not outputs:
        return []
    shards, before = {_shard_name(name, planned) for name in planned}, inputs_of(present)
    return [name for name in outputs if name in before and _shard_name(name, before) in shards]


def _shard_name(relative: str, inputs: Mapping[str, InputRecord]) -> str:
    """Relative path of the shard that an output is of, or is a piece of."""
    return shard_of(relative) if inputs[relative].piece is not None else relative


def _rows_there(uri: str, relative: str, receipts: Receipts, reader: ShardReader) -> int:
    """Rows of an output; 0 where it cannot be read."""
    receipt = receipts.read(relative)
    if receipt is not None:
        return receipt.output.rows
    try:
        return reader.probe(uri, form="parquet").rows
    except ShardError:
        return 0


def again_by_reason(reasons: Mapping[str, str], stored: Collection[str]) -> dict[str, list[str]]:
    """Relative paths of the shards that have an output already and are scored again, by reason.

    Args:
        reasons: by relative path, why a shard is not done; see :meth:`scorer.storage.Receipts.check`.
        stored: those that have an output.
    """
    found: dict[str, list[str]] = {}
    for relative, reason in reasons.items():
        if reason != NO_RECEIPT or relative in stored:
            found.setdefault(reason, []).append(relative)
    return found


def told(again: Mapping[str, Iterable[str]]) -> list[str]:
    """What :func:`again_by_reason` found, a line for each reason."""
    lines = []
    for reason, relatives in again.items():
        paths = list(relatives)
        lines.append(f"scored again ({_count(len(paths), 'shard')}): {reason}: {named(paths)}")
    return lines


def named(paths: list[str]) -> str:
    """The first paths, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
