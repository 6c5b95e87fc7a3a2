"""This program measured: against its alternatives, and against itself when one choice is changed.

``cpu``, ``gpu``                ``make bench`` and ``make bench-gpu-...``: settings, rounds, workers, results
``runners/``                    one module for each library that is compared
``reproduce/``                  ``make reproduce``: the tables of the paper
``host_overhead``, ``resume``,
``nightly``, ``audit``          the cost of everything but the model
"""

from pathlib import Path

RESTAURANTS = Path(__file__).resolve().parents[1] / "tests" / "bundles" / "e2e"
"""The small restaurant model of the tests: fast, so that what is not the model shows."""
