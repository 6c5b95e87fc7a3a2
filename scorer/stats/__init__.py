"""Intervals and tests that more than one package uses."""
