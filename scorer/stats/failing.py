"""The rule for a template that looks wrong: its facts fail far more often than those of all other templates.

Of n checked facts of a template,

- n is at least :data:`LEAST_FACTS`;
- the lower end of the 95 % interval (Wilson) of their failure rate is at least :data:`LEAST_RATE`;
- the odds of failing at that lower end are at least :data:`TIMES_THE_ODDS` times those of all other facts.

Odds are compared, since no rate can be three times that of the other facts if theirs is above a third.
"""

from __future__ import annotations

from .intervals import wilson

LEAST_FACTS = 30
LEAST_RATE = 0.2
TIMES_THE_ODDS = 3.0


def looks_wrong(failed: int, facts: int, other_failed: int, other_facts: int) -> bool:
    """Whether ``failed`` of ``facts`` is far worse than ``other_failed`` of ``other_facts``, by the rule above.

    Half a failure is added to the others' failures and half to their successes, so that their odds are neither 0 nor
    infinite. Without other facts, the result is False.
    """
    if facts < LEAST_FACTS or not other_facts:
        return False
    low = wilson(failed, facts)[0]
    others_odds = (other_failed + 0.5) / (other_facts - other_failed + 0.5)
    return low >= LEAST_RATE and low >= TIMES_THE_ODDS * others_odds * (1 - low)
