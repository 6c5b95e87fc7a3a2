"""State of an output that a run may be writing: whether it is finished, which shards it lacks, and who holds it."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Mapping
from contextlib import suppress

from ..errors import DamagedFileError
from ..system.codec import decode
from .lock import EXPIRY_S, NO_FLOCK, LockRecord, read_record
from .output_folder import OutputFolder
from .plan import LOCK, PLAN, SUCCESS
from .receipts import FAILED, NO_RECEIPT, FailedShard, Receipt, digest_of, is_output, receipt_name, relatives_of
from .store import LocalStore, Store


def why_unfinished(output: OutputFolder, receipts: Mapping[str, Receipt | str] | None = None) -> str | None:
    """Why not every planned shard is done; ``None`` if ``_SUCCESS`` agrees with the plan and all receipts, which
    are read if they are not given."""
    success, plan = output.store.read(SUCCESS), output.read_plan(lambda message: None)
    if success is None:
        return f"it has no {SUCCESS}"
    if plan is None or not all(map(is_output, plan.inputs)):
        return f"its {PLAN} is damaged"
    receipts = output.receipts(plan.inputs) if receipts is None else receipts
    found = {relative: receipts.get(relative, NO_RECEIPT) for relative in plan.inputs}
    if damaged := next((f"{relative}: {why}" for relative, why in found.items() if isinstance(why, str)), None):
        return damaged
    done = digest_of(receipt for receipt in found.values() if isinstance(receipt, Receipt))
    return None if success == done else f"its {SUCCESS} does not agree with its receipts"


def failed_shards(output: OutputFolder) -> dict[str, FailedShard]:
    """Quarantined shards by relative path; of a damaged record only the path is known."""
    found = {}
    for relative in relatives_of(output.store.list(FAILED), FAILED):
        found[relative] = FailedShard(relative=relative)
        with suppress(DamagedFileError):
            content = output.store.read(receipt_name(relative, FAILED)) or b""
            found[relative] = decode(content, FailedShard, receipt_name(relative, FAILED))
    return found


def lock_holder(store: Store) -> LockRecord | None:
    """The run that holds an output now, as far as one look tells."""
    info, record = store.list(LOCK).get(LOCK), read_record(store)
    if isinstance(store, LocalStore):
        try:
            with (store.location / LOCK).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except BlockingIOError:
            return record
        except OSError as error:
            if error.errno not in NO_FLOCK:
                return None
    return record if info is not None and time.time() - info.modified < EXPIRY_S else None
