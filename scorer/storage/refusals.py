"""Checks of a location before a run writes there: it must be an output or empty, and lose nothing by accident."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DeviceError, OutputError
from .location import Location, StoreUri
from .plan import OWN_NAMES, PLAN, RUN, SUCCESS, Plan
from .receipts import RECEIPTS, Receipt, failed_name, receipt_name
from .store import FileInfo, open_store, refuse_links

if TYPE_CHECKING:
    from .output_folder import OutputFolder
    from .shards import Shard

_SHOWN = 3


def refuse_foreign(output: OutputFolder) -> None:
    """Refuse a location that is not, and cannot become, an output.

    An output has a plan, or a usable receipt and otherwise only shards that have a receipt or a quarantine record. What
    begins with a dot is a file manager's or a version control's, and is ignored.

    Raises:
        OutputError: something else is there.
    """
    location = output.location
    if output.read(PLAN) is not None:
        return
    tops = {name.partition("/")[0] for name in output.store.list()}
    strange = sorted(name for name in tops if not name.startswith(".") and name not in OWN_NAMES)
    if not strange:
        return
    receipts = output.receipts()
    if any(isinstance(one, Receipt) for one in receipts.values()):
        known = {relative.partition("/")[0] for relative in (*receipts, *output.failed())}
        strange = [name for name in strange if name not in known]
        if not strange:
            return
    more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
    raise OutputError(
        f"{location} is not an output folder of this program: it has no {PLAN}, but holds {strange[0]!r}{more}; choose "
        "a new or empty place for --out"
    )


def refuse_replacement(
    output: OutputFolder,
    files: Mapping[str, FileInfo],
    stored: Plan | None,
    plan: Plan,
    shards: Collection[Shard],
    todo: Collection[Shard],
    *,
    rescore: bool,
    allow_stale: bool,
) -> None:
    """Refuse a run that would lose rows or labels by accident.

    Args:
        files: of the output. stored: the plan that is there. todo: those of the shards that will be scored.
        rescore: permits other labels, fewer rows, and another division into row ranges.
        allow_stale: permits outputs whose input is not in the plan.

    Raises:
        OutputError: something would be lost, or a symbolic link is in the way.
        DeviceError: some shards are done and were scored on another device or runtime.
    """
    if isinstance(output.location, Path):
        for name in _written(todo):
            refuse_links(output.location, output.location / name)
    divided, stale = output.extra_outputs(files, stored, plan)
    found = []
    if stale and not allow_stale:
        found.append(
            (
                f"{count(len(stale), 'output')} whose input is not among IN ({named(stale)})",
                "--allow-stale keeps outputs without an input, which readers then skip",
            )
        )
    if divided and not rescore:
        found.append(
            (
                f"{count(len(divided), 'output')} written with another --split-rows ({named(divided)})",
                "use the earlier --split-rows, or --rescore to replace them",
            )
        )
    if not rescore and (shorter := _shorter(output, files, todo)):
        first, (before, after) = next(iter(shorter.items()))
        found.append(
            (
                f"{count(len(shorter), 'output')} with more rows than would replace them ({first}: {before:,} rows, "
                f"now {after:,})",
                "--rescore replaces them",
            )
        )
    if found:
        ways = ["leave --limit out"] if plan.limit is not None else [way for _, way in found]
        raise OutputError(
            f"{output.location} has {' and '.join(what for what, _ in found)}; nothing was written: "
            f"{'; '.join(ways)}; or choose another --out"
        )
    if not rescore:
        _refuse_other_labels(output, plan, todo)
        if stored is not None and 0 < len(todo) < len(shards):
            _refuse_other_hardware(output.location, stored, plan)


def _written(todo: Iterable[Shard]) -> list[str]:
    """Names that a run writes."""
    relatives = [shard.relative for shard in todo]
    shards = [name for one in relatives for name in (one, receipt_name(one), failed_name(one))]
    return [PLAN, RUN, SUCCESS, *shards]


def _shorter(output: OutputFolder, files: Mapping[str, FileInfo], todo: Iterable[Shard]) -> dict[str, tuple[int, int]]:
    """Outputs that would be replaced by fewer rows: by relative path the rows now and then. All row ranges of an input
    count as one output."""
    rows: dict[str, tuple[int, int]] = {}
    for shard in todo:
        name = input_of(shard.relative, shard.groups is not None)
        before, after = rows.get(name, (0, 0))
        there = _rows(output, shard.relative) if shard.relative in files else 0
        rows[name] = before + there, after + shard.rows
    return {name: counted for name, counted in rows.items() if counted[0] > counted[1]}


def _rows(output: OutputFolder, relative: str) -> int:
    """Rows of an output, by its receipt or its footer; 0 if neither can be read."""
    receipt = output.receipt(relative)
    if isinstance(receipt, Receipt):
        return receipt.output.rows
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with output.open(relative) as file, pq.ParquetFile(file) as found:
            return int(found.metadata.num_rows)
    except (OSError, pa.ArrowException):
        return 0


def _refuse_other_labels(output: OutputFolder, plan: Plan, todo: Iterable[Shard]) -> None:
    """Refuse to replace labels because the bundle, the templates or an option changed."""
    for shard in todo:
        receipt, wanted = output.receipt(shard.relative), plan.fingerprint(shard)
        if isinstance(receipt, str) or receipt.fingerprint.has_signature_of(wanted) or not output.is_intact(receipt):
            continue
        changes = receipt.fingerprint.differences(wanted)[0].removeprefix("signature differs: ")
        raise OutputError(
            f"{output.location} has labels of another signature ({changes}); nothing was written: pass --rescore to "
            "replace them, or choose another --out"
        )


def _refuse_other_hardware(location: Location, stored: Plan, plan: Plan) -> None:
    is_same_signature = (stored.signature, stored.signature_parts) == (plan.signature, plan.signature_parts)
    if is_same_signature and (changes := stored.hardware_changes(plan)):
        raise DeviceError(
            f"{location} has shards scored on a different device or runtime ({changes}). Resume there, pass --rescore "
            "to rescore all shards here, or use a new --out with --reuse."
        )


def refuse_nested(location: Location) -> None:
    """Refuse a location inside another output, which would take its files for its own.

    Raises:
        OutputError: names the other output.
    """
    found: Location | None = None
    if isinstance(location, Path):
        above = location.absolute().parents
        found = next((path for path in above if (path / PLAN).is_file() or (path / RECEIPTS).is_dir()), None)
    elif location.path:
        parts = location.path.split("/")
        places = [StoreUri(location.scheme, location.bucket, "/".join(parts[:i])) for i in range(len(parts))]
        found = next(filter(_has_plan, places), None)
    if found is not None:
        raise OutputError(f"{location} is inside the output {found}; choose an --out outside of it")


def _has_plan(place: StoreUri) -> bool:
    with suppress(OutputError):  # a policy may allow requests below OUT alone
        return open_store(place, patient=False).read(PLAN) is not None
    return False


def input_of(relative: str, is_range: bool) -> str:
    """Relative path that the outputs of one input share: the folder of its row ranges, or the output itself."""
    return relative.rpartition("/")[0] if is_range else relative


def named(paths: Sequence[str]) -> str:
    """The first paths, and how many more there are."""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more


def count(number: int, noun: str) -> str:
    """A number with its noun, as ``2 shards``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
