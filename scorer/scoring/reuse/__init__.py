"""Labels taken over from earlier outputs: a row that is found there by key, under the same signature, keeps its label.

``sources``  which earlier outputs and shards serve, and how far their labels may differ from this run's
``match``    a window split into rows to score and rows that bring their labels along, and put together again
``recheck``  some of the reused rows, scored again and compared
``recheck_log``   what that has shown so far, shard by shard
"""

from __future__ import annotations

from .match import Reuse, ReuseMatch
from .recheck import Disagreement
from .recheck_log import DISAGREED, RecheckLog
from .sources import Sources, open_sources

__all__ = ["DISAGREED", "Disagreement", "RecheckLog", "Reuse", "ReuseMatch", "Sources", "open_sources"]
