"""Status of a check: the one vocabulary that the model's side and the metric's side share."""

SCORED, TOO_LONG, NOT_FINITE, OUT_OF_MEMORY = 0, 1, 2, 3

STATUS_NAMES = ("scored", "too_long", "not_finite", "out_of_memory")
"""By status code; all but the first are the ``error`` of the row, with the side behind a colon."""

NOT_TOKENISED = 1 << 32
"""Tokens of a text that is too long for any pair, whatever its tokens are; it was not tokenised."""
