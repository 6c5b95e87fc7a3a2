"""The metric's choices by name, declared once: for the command line, Python, and plans that are read back."""

from __future__ import annotations

from typing import Literal

Protocol = Literal["paper", "nlgi_eval", "factspotter"]
"""The metric as in the paper, as its released code computes it, or FactSpotter (:mod:`.factspotter`)."""
Sides = Literal["both", "hallucination"]
"""The sides that are checked."""
MissingTemplate = Literal["backoff", "error"]
"""What becomes of a triple without a template: the backoff template, or an error that ends the run."""
