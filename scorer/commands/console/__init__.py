"""Typed results as console text and JSON; nothing here computes."""
