"""Status of a check, shared by the packages ``inference`` and ``metric``."""

SCORED, TOO_LONG, NOT_FINITE, OUT_OF_MEMORY = 0, 1, 2, 3

STATUS_NAMES = ("scored", "too_long", "not_finite", "out_of_memory")
"""Names by status code; all but the first are the ``error`` of the row, followed by a colon and the side."""

NOT_TOKENISED = 1 << 32
"""Number of tokens of a text that was not tokenised, because its bytes alone make it too long for any pair."""
