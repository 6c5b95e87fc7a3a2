"""Recipes need what the exporter needs, and export models of random weights."""

from __future__ import annotations

from tests.export.conftest import any_meaning as any_meaning
