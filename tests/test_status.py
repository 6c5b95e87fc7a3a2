"""Errors of rows, as values and as the text of the output column."""

from __future__ import annotations

import pytest

from scorer.status import RowError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RowError("null_text"), "null_text"),
        (RowError("too_long", ("omission",)), "too_long:omission"),
        (RowError("not_finite", ("omission", "hallucination")), "not_finite:omission+hallucination"),
        (RowError("malformed_row", line=3), "malformed_row:line 3"),
    ],
)
def test_an_error_is_joined_to_the_text_of_the_column_and_read_from_it(error: RowError, text: str) -> None:
    assert (error.text, RowError.parse(text)) == (text, error)


def test_a_text_that_no_run_writes_is_parsed_too() -> None:
    assert RowError.parse("malformed_row:line x").line is None
