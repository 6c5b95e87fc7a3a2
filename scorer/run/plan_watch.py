"""Whether the plan of a folder is still the one that a worker joined."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ..errors import OutputError
from ..scoring.plan import Plan
from ..storage.joined import JoinedOutput


@dataclass(frozen=True)
class PlanWatch:
    """Looks at the plan file before anything is published. ``digest``: of the plan; ``stamp``: of its file."""

    output: JoinedOutput
    digest: str
    stamp: Hashable | None

    @classmethod
    def of(cls, output: JoinedOutput, plan: Plan) -> PlanWatch:
        """Of the plan that is there now."""
        return cls(output, plan.digest, output.plan_stamp())

    def check(self) -> None:
        """One look at the file; it is read only if it was replaced.

        Raises:
            OutputError: there is another plan, or none.
        """
        if self.stamp is not None and self.output.plan_stamp() == self.stamp:
            return
        present = Plan.usable(self.output.read_plan())
        if present is None or present.digest != self.digest:
            raise OutputError(
                f"{self.output.path}: _plan.json was replaced or removed while this worker ran, so that the folder is "
                "another run's now; start the worker again"
            )
