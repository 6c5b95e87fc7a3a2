"""The browser of the report's tests, for the page to label in."""

from __future__ import annotations

from tests.audit.report.conftest import axe, browser, opens

__all__ = ["axe", "browser", "opens"]
