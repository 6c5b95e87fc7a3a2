"""Whether the plan of a folder is still the one that a worker joined."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import OutputError
from ..scoring.plan import Plan
from ..storage import OutputFolder
from ..storage.finished import PLAN
from ..storage.stamps import Stamp, stamp_of


@dataclass(frozen=True)
class PlanWatch:
    """Looks at the plan file before anything is published. ``digest``: of the plan; ``stamp``: of its file."""

    out: Path
    digest: str
    stamp: Stamp | None

    @classmethod
    def of(cls, out: Path, plan: Plan) -> PlanWatch:
        """Of the plan that is there now."""
        return cls(out, plan.digest, stamp_of(out / PLAN))

    def check(self) -> None:
        """One look at the file; it is read only if it was replaced.

        Raises:
            OutputError: there is another plan, or none.
        """
        if self.stamp is not None and stamp_of(self.out / PLAN) == self.stamp:
            return
        present = Plan.usable(OutputFolder.peek_plan(self.out))
        if present is None or present.digest != self.digest:
            raise OutputError(
                f"{self.out}: _plan.json was replaced or removed while this worker ran, so that the folder is another "
                "run's now; start the worker again"
            )
