"""Documents of earlier versions are shown; what cannot be shown is named."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from scorer.audit.report import render
from scorer.audit.report.earlier import completed
from scorer.errors import UsageError
from tests.audit.report.documents import document


def without(*keys: str) -> Any:
    """A document without some keys, each a path of keys and positions."""
    found: Any = copy.deepcopy(document())
    for path in keys:
        inner: Any = found
        *above, last = path.split(".")
        for key in above:
            inner = inner[int(key)] if key.isdigit() else inner[key]
        del inner[last]
    return found


def test_a_document_keeps_every_value_that_it_has() -> None:
    def keeps(found: Any, given: Any) -> bool:
        if isinstance(given, dict):
            return all(keeps(found[key], one) for key, one in given.items())
        if isinstance(given, list):
            return len(found) == len(given) and all(map(keeps, found, given))
        return bool(found == given)

    assert keeps(completed(document()), document())


def test_keys_that_were_added_later_are_filled_in_and_the_document_is_not_changed() -> None:
    given = without("worse", "true_rates", "template_figures", "notes", "history", "groups.0.change")
    before = copy.deepcopy(given)
    found = completed(given)
    assert given == before
    assert (found["worse"], found["true_rates"], found["template_figures"], found["notes"]) == (None, None, [], [])
    assert found["groups"][0]["change"] is None
    page = render(given)
    assert "48,210" in page and 'id="worse"' not in page and 'id="trend"' not in page


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (without("status"), "has no 'status'.* scored with version .* audit the output again"),
        (without("groups.1.rows"), "has no 'rows'.* audit the output again"),
        (without("baseline.out"), "has no 'out'"),
        ({**document(), "schema": 7}, "has schema 7, and this version .* shows schema 1"),
        ({}, "has schema None"),
    ],
)
def test_what_cannot_be_shown_is_named(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        render(given)
