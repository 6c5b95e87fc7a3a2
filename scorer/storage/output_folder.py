"""The output folder of a run, to be read: its plan, receipts and quarantine records, what is done and what is not.

"Is a shard done?" is asked by a resume, at the end of a run and by ``scorer plan``: :meth:`OutputFolder.unfinished`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ..errors import DamagedFileError, DeviceError, OutputError, count_of
from ..system.codec import decode, unseal
from ..system.files import sha256_of
from ..system.waiting import several
from .location import Location, named
from .plan import PLAN, RUN, SUCCESS, Plan
from .receipts import (
    FAILED,
    NO_RECEIPT,
    RECEIPTS,
    FailedShard,
    Receipt,
    Signature,
    content_sha256,
    digest_of,
    is_output,
    receipt_name,
    relatives_of,
)
from .store import FileInfo, Store, open_store, refuse_links

if TYPE_CHECKING:
    from .shards import Shard

_READERS = 16


class OutputFolder:
    """An output, to be read; a run writes to a :class:`.LockedOutput`.

    Args:
        patient: retry requests to an object store for minutes instead of seconds.
        store: of the location, if it is open.
    """

    def __init__(self, location: Location, *, patient: bool = True, store: Store | None = None) -> None:
        self.location = location
        self.store: Store = store or open_store(location, patient=patient)
        self._files: Mapping[str, FileInfo] = {}
        self._receipts: dict[str, Receipt | str] = {}
        self._done: dict[str, tuple[Receipt, tuple[str, str]]] = {}

    def read_plan(self, say: Callable[[str], None] | None = None) -> Plan | None:
        """The stored plan; ``None`` if there is none.

        Args:
            say: called with the error of a damaged plan, which then counts as none.

        Raises:
            SchemaError: another version of this program wrote it. DamagedFileError: without ``say``; names the field.
        """
        content = self.store.read(PLAN)
        try:
            return None if content is None else decode(content, Plan, self.store.uri(PLAN))
        except DamagedFileError as error:
            if say is None:
                raise
            say(str(error))
            return None

    def receipt(self, relative: str) -> Receipt | str:
        """The receipt of a shard, or why there is none that can be used.

        Raises:
            SchemaError: another version of this program wrote it.
        """
        name = receipt_name(relative)
        content = self.store.read(name)
        if content is None:
            return NO_RECEIPT
        try:
            found = unseal(content, Receipt, "its receipt", advice="")
        except DamagedFileError as error:
            return str(error)
        return found if found.relative == relative else "its receipt is that of another output"

    def receipts(self, relatives: Iterable[str] | None = None) -> dict[str, Receipt | str]:
        """The receipts of some shards, by default of all that have one; see :meth:`receipt`."""
        chosen = relatives_of(self.store.list(RECEIPTS), RECEIPTS) if relatives is None else list(relatives)
        if self.store.is_remote:
            return dict(zip(chosen, several(self.receipt, chosen, _READERS), strict=True))
        return {relative: self.receipt(relative) for relative in chosen}

    def failed(self) -> dict[str, FailedShard]:
        """Quarantined shards by relative path; of a damaged record only the path is known."""
        found = {}
        for relative in relatives_of(self.store.list(FAILED), FAILED):
            name = receipt_name(relative, FAILED)
            try:
                found[relative] = decode(self.store.read(name) or b"", FailedShard, self.store.uri(name))
            except DamagedFileError:
                found[relative] = FailedShard(relative=relative)
        return found

    def why_unfinished(self, receipts: Mapping[str, Receipt | str] | None = None) -> str | None:
        """Why not every planned shard is done; ``None`` if ``_SUCCESS`` agrees with the plan and all receipts.

        Args:
            receipts: see :meth:`receipts`, if they are read.
        """
        success, plan = self.store.read(SUCCESS), self.read_plan(lambda message: None)
        if success is None:
            return f"it has no {SUCCESS}"
        if plan is None or not all(map(is_output, plan.inputs)):
            return f"its {PLAN} is damaged"
        found, done = self.receipts(plan.inputs) if receipts is None else receipts, list[Receipt]()
        for relative in plan.inputs:
            receipt = found.get(relative, NO_RECEIPT)
            if isinstance(receipt, str):
                return f"{relative}: {receipt}"
            done.append(receipt)
        return None if success == digest_of(done) else f"its {SUCCESS} does not agree with its receipts"

    def is_intact(self, receipt: Receipt, info: FileInfo | None) -> bool:
        """Whether a receipt's output is the file that the receipt describes: by the version that an object store gave
        it, otherwise by its SHA-256.

        Args:
            info: of the output; ``None`` if it does not exist.
        """
        output = receipt.output
        if info is None or info.size != output.bytes:
            return False
        if output.e_tag:
            return info.version == output.e_tag
        try:
            with self.store.open(receipt.relative, info.version) as file:
                return sha256_of(file) == output.sha256
        except (OSError, OutputError):
            return False

    def extra_outputs(
        self, files: Mapping[str, FileInfo], stored: Plan | None, plan: Plan
    ) -> tuple[list[str], list[str]]:
        """Outputs that are not in a plan, sorted, each list: those of an input that the plan divides in another way,
        and stale ones, whose input is not in the plan.

        Args:
            files: of the output. A file is an output if it has a receipt or a quarantine record, or is in the
                ``stored`` plan.
        """
        before = {} if stored is None else stored.inputs
        known = {*before, *relatives_of(files, RECEIPTS), *relatives_of(files, FAILED)} - plan.inputs.keys()
        planned = {_input_of(name, record.groups) for name, record in plan.inputs.items()}
        divided: list[str] = []
        stale: list[str] = []
        for relative in sorted(filter(is_output, known)):
            has_file = relative in files or receipt_name(relative) in files
            if not has_file or not self._is_inside(relative):
                continue
            record = before.get(relative)
            if record is None and isinstance(receipt := self.receipt(relative), Receipt):
                record = receipt.input
            name = _input_of(relative, None if record is None else record.groups)
            (divided if name in planned else stale).append(relative)
        return divided, stale

    def _is_inside(self, relative: str) -> bool:
        """Whether an output really lies in the folder; what a link leads to is not ours."""
        if not isinstance(self.location, Path):
            return True
        return (self.location / relative).parent.resolve().is_relative_to(self.location.resolve())

    def unfinished(self, shards: Sequence[Shard], plan: Plan, *, rescore: bool = False) -> dict[Shard, str]:
        """The shards to score, with the reason. The outputs of the others are hashed here, once in a run.

        Args:
            rescore: score shards again that were scored on another device or runtime.
        """
        self._files = self.store.list()
        self._receipts = self.receipts(one.relative for one in shards if receipt_name(one.relative) in self._files)
        todo: dict[Shard, str] = {}
        for shard in shards:
            receipt = self._receipts.get(shard.relative, NO_RECEIPT)
            reason = self._why_unfinished(shard, plan, receipt, self._files)
            if reason is None and rescore:
                reason = _scored_elsewhere(self._done[shard.relative][0], plan)
            if reason is not None:
                todo[shard] = reason
        return todo

    def _why_unfinished(
        self, shard: Shard, plan: Plan, receipt: Receipt | str, files: Mapping[str, FileInfo]
    ) -> str | None:
        """Why a shard is not done; ``None`` if it is, and is remembered.

        The receipt's fingerprint must be the wanted one, its input the same (size and footer, and either time and
        version or the content), and its output intact.
        """
        if isinstance(receipt, str):
            return receipt
        wanted, found = plan.fingerprint(shard), receipt.input
        if receipt.fingerprint != wanted:
            return "; ".join(receipt.fingerprint.differences(wanted))
        if found.identity != shard.identity:
            changed = ["identity"] if found.identity is None else found.identity.changes_to(shard.identity)
            was = found.content_sha256 if changed == ["mtime_ns"] else None
            if was is None or content_sha256(shard.file.uri, shard.identity) != was:
                return f"its input changed: {', '.join(changed)}"
        counted = receipt.counts.rows.all == receipt.output.rows
        if not counted or not self.is_intact(receipt, files.get(shard.relative)):
            return "its output is damaged"
        self._done[shard.relative] = receipt, versions_of(shard.relative, files)
        return None

    def refuse_replacement(
        self,
        stored: Plan | None,
        plan: Plan,
        shards: Collection[Shard],
        todo: Collection[Shard],
        *,
        rescore: bool = False,
        allow_stale: bool = False,
    ) -> None:
        """Refuse a run that would lose rows or labels by accident.

        Args:
            stored: the plan that is there. todo: the shards that will be scored, which :meth:`unfinished` found.
            rescore: permits other labels, fewer rows, and another division into row ranges.
            allow_stale: permits outputs whose input is not in the plan.

        Raises:
            OutputError: something would be lost, or a symbolic link is in the way.
            DeviceError: some shards are done and were scored on another device or runtime.
        """
        if isinstance(self.location, Path):
            names = [PLAN, RUN, SUCCESS]
            for one in todo:
                names += [one.relative, receipt_name(one.relative), receipt_name(one.relative, FAILED)]
            for name in names:
                refuse_links(self.location, self.location / name)
        divided, stale = self.extra_outputs(self._files, stored, plan)
        found = {}  # what would be lost, and how to permit it
        if stale and not allow_stale:
            what = f"{count_of(len(stale), 'output')} whose input is not among IN ({named(stale)})"
            found[what] = "--allow-stale keeps outputs without an input, which readers then skip"
        if divided and not rescore:
            what = f"{count_of(len(divided), 'output')} written with another --split-rows ({named(divided)})"
            found[what] = "use the earlier --split-rows, or --rescore to replace them"
        if not rescore and (shorter := self._shorter(todo)):
            first, (before, after) = next(iter(shorter.items()))
            rows = f"{first}: {before:,} rows, now {after:,}"
            found[f"{count_of(len(shorter), 'output')} with more rows than would replace them ({rows})"] = (
                "--rescore replaces them"
            )
        if found:
            ways = list(found.values()) if plan.limit is None else ["leave --limit out"]
            raise OutputError(
                f"{self.location} has {' and '.join(found)}; nothing was written: {'; '.join(ways)}; or choose "
                "another --out"
            )
        if rescore:
            return
        self._refuse_other_labels(stored, plan, todo)
        if stored is None or Signature.of(stored) != Signature.of(plan) or not 0 < len(todo) < len(shards):
            return
        if changes := stored.hardware_changes(plan):
            raise DeviceError(
                f"{self.location} has shards scored on a different device or runtime ({changes}). Resume there, pass "
                "--rescore to rescore all shards here, or use a new --out with --reuse."
            )

    def _shorter(self, todo: Iterable[Shard]) -> dict[str, tuple[int, int]]:
        """Outputs that would be replaced by fewer rows: by relative path the rows now and then. All row ranges of an
        input count as one output."""
        rows: dict[str, tuple[int, int]] = {}
        for shard in todo:
            name = _input_of(shard.relative, shard.groups)
            before, after = rows.get(name, (0, 0))
            there = self._rows(shard.relative) if shard.relative in self._files else 0
            rows[name] = before + there, after + shard.rows
        return {name: counted for name, counted in rows.items() if counted[0] > counted[1]}

    def _rows(self, relative: str) -> int:
        """Rows of an output, by its receipt or its footer; 0 if neither can be read."""
        receipt = self._receipts.get(relative)
        if isinstance(receipt, Receipt):
            return receipt.output.rows
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self.store.open(relative) as file:
                return int(pq.read_metadata(file).num_rows)
        except (OSError, pa.ArrowException):
            return 0

    def _refuse_other_labels(self, stored: Plan | None, plan: Plan, todo: Iterable[Shard]) -> None:
        """Refuse to replace labels because the bundle, the templates or an option changed."""
        wanted = Signature.of(plan)
        for shard in todo:
            receipt = self._receipts.get(shard.relative, NO_RECEIPT)
            if isinstance(receipt, str):
                continue
            changed = Signature.of(receipt.fingerprint).changes_to(wanted)
            if changed and self.is_intact(receipt, self._files.get(shard.relative)):
                named = ", ".join(_with_names(one, stored, plan) for one in changed)
                raise OutputError(
                    f"{self.location} has labels of another signature ({named}); nothing was written: "
                    "pass --rescore to replace them, or choose another --out"
                )


def _with_names(change: str, stored: Plan | None, plan: Plan) -> str:
    """A change of a signature, ``templates: none → 9c1185a5c5e9``, with names of files for digests where the files
    have other names: ``templates: none → cities.json``."""
    key, _, values = change.partition(": ")
    before, after = (one.settings.get(key) if one is not None else None for one in (stored, plan))
    shown = values.split(" → ")
    if before == after or len(shown) != 2:
        return change
    names = [
        PurePath(name).name if isinstance(name, str) else one for name, one in zip((before, after), shown, strict=True)
    ]
    return f"{key}: {' → '.join(names)}"


def _input_of(relative: str, groups: tuple[int, int] | None) -> str:
    """Relative path that the outputs of one input share: the folder of its row ranges, or the output itself."""
    return relative if groups is None else relative.rpartition("/")[0]


def _scored_elsewhere(receipt: Receipt, plan: Plan) -> str | None:
    provenance = receipt.provenance
    if (provenance.worker, provenance.origin.get("runtime")) == (plan.device, plan.runtime):
        return None
    return f"it was scored elsewhere ({provenance.worker})"


def versions_of(relative: str, files: Mapping[str, FileInfo]) -> tuple[str, str]:
    """Versions of an output and its receipt."""
    one, other = (files[name].version if name in files else "" for name in (relative, receipt_name(relative)))
    return one, other
