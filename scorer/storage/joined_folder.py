"""The output of a joined run in a folder, as one of its workers uses it; see :mod:`.joined`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

from .believed import Believed
from .claims import Claims, StandingClaim, remove_claims, standing_claims
from .durable import Holder, read_json
from .finished import PLAN, RUN
from .plan import OutputFolder
from .receipts import Receipt, Receipts
from .records import WrittenFile
from .space import require_space
from .stamps import stamp_of
from .workers import write_card


class JoinedFolder(OutputFolder):
    """A folder that workers share; made by :meth:`OutputFolder.open`."""

    def announce(self, device: str) -> None:
        """See :class:`.JoinedOutput`, as for all methods here."""
        write_card(self.holder, device)

    def plan_stamp(self) -> Hashable | None:
        return stamp_of(self.path / PLAN)

    def read_run(self) -> object:
        return read_json(self.path / RUN)

    def outside_of(self, keep: Collection[str]) -> list[str]:
        return self.outside(self.path, keep)

    def stored(self, relatives: Iterable[str]) -> Mapping[str, str]:
        return {one: str(path.absolute()) for one in relatives if (path := self.path / one).exists()}

    def require_space(self, needed: int, what: str) -> None:
        require_space(self.path, needed, what)

    def refresh(self) -> None:
        """Nothing is remembered."""

    def sweep_after_workers(self) -> None:
        with self.brief():  # so that no worker begins meanwhile, whose files would be taken for those of a dead one
            self.sweep_temporary()

    def standing_claims(self) -> Mapping[str, StandingClaim]:
        return standing_claims(self.path)

    def remove_claims(self) -> None:
        remove_claims(self.path)

    def claims(self, lease_s: float) -> Claims:
        return Claims(self.path, self.token, lease_s)

    def publisher(self, check: Callable[[], None], confirm: Callable[[], None]) -> FolderPublisher:
        return FolderPublisher(self, check)


class FolderPublisher:
    """Publishes into a folder by renaming; see :class:`.Publisher`."""

    def __init__(self, folder: JoinedFolder, check: Callable[[], None]) -> None:
        self.holder = Holder(folder.path, folder.token, check)
        self._folder = folder
        self._believed = Believed(folder.path, Receipts(folder.path, self.holder))

    def publish(self, relative: str, written: WrittenFile) -> WrittenFile:
        """Nothing is left to do: the writer renamed the file where it belongs."""
        return written

    def write(self, receipt: Receipt) -> None:
        self._believed.write(receipt)

    def receipt(self, relative: str) -> Receipt | None:
        return self._believed.receipt(relative)

    def write_run(self, summary: Mapping[str, object]) -> None:
        self._folder.write_run(summary, self.holder)

    def write_success(self, plan: str) -> None:
        self._folder.write_success(plan, self.holder)
