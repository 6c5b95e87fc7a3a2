"""Labels taken over from earlier outputs: a row that is found there by key, under the same signature, keeps its label.

``sources``  which earlier outputs and shards serve, and how far their labels may differ from this run's
``match``    a window split into rows to score and rows that bring their labels along, and put together again
"""

from __future__ import annotations

from .match import Reuse, ReuseMatch
from .sources import Sources, open_sources

__all__ = ["Reuse", "ReuseMatch", "Sources", "open_sources"]
