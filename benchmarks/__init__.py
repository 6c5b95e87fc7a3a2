"""This program measured: ``speed/`` against other runtimes, ``paper/`` against other metrics, ``quality/`` its options
against the default; ``results/``: what was measured, each file with its machine; ``figures.py``: the pictures of the
documentation."""

from pathlib import Path

RESTAURANTS = Path(__file__).resolve().parents[1] / "tests" / "bundles" / "e2e"
"""The small restaurant model of the tests: fast, so that what is not the model shows."""
