"""d2t-scorer: which generated texts say all and only the facts.

>>> from scorer import Scorer, Triple
>>> scorer = Scorer.embedded()
>>> scorer.score([Triple("Blue Spice", "eatType", "pub")], "Blue Spice is a pub.").fine
'OK'

Names are loaded when they are first used, so that ``import scorer`` costs next to nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import ScorerError as ScorerError
    from .metric import ColumnNames as ColumnNames
    from .metric.facts import Triple as Triple
    from .scoring.results import CheckResult as CheckResult
    from .scoring.results import Verdict as Verdict
    from .scoring.scorer import Scorer as Scorer
    from .scoring.settings import ScorerOptions as ScorerOptions

# ONNX Runtime's wheels from 1.31 on can report usage to their vendor: with a thread, a session file in the folder for
# temporary files, and the address of a collector. The variable is read when the library is loaded. Here it is switched
# off, so that no data leaves the machine, unless the user has set it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

_HOME = {
    "CheckResult": ".scoring.results",
    "ColumnNames": ".metric",
    "Scorer": ".scoring.scorer",
    "ScorerError": ".errors",
    "ScorerOptions": ".scoring.settings",
    "Triple": ".metric.facts",
    "Verdict": ".scoring.results",
}
__all__ = ["CheckResult", "ColumnNames", "Scorer", "ScorerError", "ScorerOptions", "Triple", "Verdict", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from .system.codec import program_version

        return program_version()
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
