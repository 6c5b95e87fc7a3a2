"""This program measured.

``speed/``     ``make bench`` and ``make bench-gpu``: against other runtimes, and the cost of everything but the model
``paper/``     ``make reproduce``: the paper's tables, rival metrics, error spans, the challenge set's generator
``results/``   what was measured, each file with its machine and command
``figures.py`` the pictures of the documentation, from ``results/``
"""

from pathlib import Path

RESTAURANTS = Path(__file__).resolve().parents[1] / "tests" / "bundles" / "e2e"
"""The small restaurant model of the tests: fast, so that what is not the model shows."""
