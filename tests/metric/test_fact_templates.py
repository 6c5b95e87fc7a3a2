from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import TemplateError, UsageError
from scorer.metric.fact_templates import Templates, parse_optional
from scorer.metric.facts import Triple
from scorer.metric.slots import to_text

RATED = {
    "$version": 1,
    "rating": "<subject> is rated <object>.",
    "near": ["<subject> lies near <object>.", "never used"],
    "familyFriendly": {"yes": "<subject> welcomes families.", "no": ["<subject> is for adults."]},
    "$aliases": {"customer rating": "rating"},
    "$optional": ["near=the sea"],
}


@pytest.mark.parametrize(
    ("triple", "text", "backoff", "key"),
    [
        (("A", "rating", "high"), "<subject> is rated <object>.", False, ("rating", None)),
        (("A", "customer rating", "high"), "<subject> is rated <object>.", False, ("rating", None)),
        (("A", "familyFriendly", "yes"), "<subject> welcomes families.", False, ("familyFriendly", "yes")),
        (("A", "familyFriendly", "'no'"), "<subject> is for adults.", False, ("familyFriendly", "no")),
        (("A", "familyFriendly", '"maybe'), "The family Friendly of <subject> is <object>.", True,
         ("familyFriendly", '"maybe')),
        (("A", "near", "B"), "<subject> lies near <object>.", False, ("near", None)),
        (("A", "was_in", "<subject>"), "The was in of <subject> is <object>.", True, ("was_in", None)),
    ],
)  # fmt: skip
def test_what_is_looked_up_is_what_is_filled(
    triple: tuple[str, str, str], text: str, backoff: bool, key: tuple[str, str | None]
) -> None:
    templates = Templates.from_dict(RATED)
    found = templates.lookup(Triple(*triple))
    assert (to_text(found.pattern), found.backoff, (found.predicate, found.object)) == (text, backoff, key)
    fact = templates.fill(Triple(*triple))
    value = re.sub("^['\"](.*)['\"]$", r"\1", triple[2])
    assert fact.text == text.replace("<subject>", "A").replace("<object>", value)
    assert fact.backoff is backoff


def test_optional_facts_match_either_spelling_of_the_predicate() -> None:
    templates = Templates.from_dict(RATED)
    assert templates.optional == {("near", "the sea")}
    optional = parse_optional(["rating=low", "customer rating=poor"])
    assert templates.is_optional(Triple("A", "customer rating", '"low"'), optional)
    assert templates.is_optional(Triple("A", "customer rating", "poor"), optional)
    assert not templates.is_optional(Triple("A", "rating", "high"), optional)
    for spec in ("eatType", "=pub", "eatType="):
        with pytest.raises(UsageError, match="PREDICATE=OBJECT"):
            parse_optional([spec])


def test_the_hash_is_of_the_content_not_of_its_layout(tmp_path: Path) -> None:
    one, other = tmp_path / "a.json", tmp_path / "b.json"
    one.write_text(json.dumps(RATED))
    other.write_text("\ufeff" + json.dumps(RATED, indent=3, sort_keys=True))
    assert Templates.load(one).sha256 == Templates.load(other).sha256
    assert Templates.from_dict({**RATED, "rating": "<subject>: <object>."}).sha256 != Templates.load(one).sha256


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "top level"),
        ({"p": []}, "'p'"),
        ({"p": "The {Subject} is <object>."}, "found {Subject} in .* did you mean <subject>"),
        ({"p": {"yes": None}}, "'yes'"),
        ({"$alias": {}}, r"'\$alias'"),
        ({"p": "x", "$aliases": {"q": "r"}}, "'r'"),
        ({"$optional": "near=x"}, "optional"),
        ({"p": "<subject> \udfff"}, r"\\udfff is half of a surrogate pair"),
        ({"$optional": ["p"]}, r"'\$optional': optional fact 'p': write PREDICATE=OBJECT"),
    ],
)
def test_what_a_file_may_not_hold(data: object, says: str) -> None:
    with pytest.raises(TemplateError, match=says):
        Templates.from_dict(data)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"p": "<subject> <object>", "p": "<subject> <object>"}')
    with pytest.raises(TemplateError, match="the key 'p' occurs twice"):
        Templates.load(tmp_path / "t.json")


WHOLE = {"p": "<subject> is <object>.", "q": {"yes": "<subject> does."}, "r": ["<object> of <subject>", "unused"]}


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        (WHOLE, None),
        ({"p": "<subject> is it."}, "the template of 'p' has no <object>"),
        ({"p": ["It is <object>.", "<subject> <object>"]}, "the template of 'p' has no <subject>"),
        ({"p": "<Subject> is <object >."}, "has no <subject> and <object>"),
        (
            {"q": {"yes": "It does.", "no": "<subject> does not."}},
            "the template of 'q', object 'yes', has no <subject>",
        ),
        (WHOLE | {"a": "x", "b": "y", "c": {"d": "z"}}, "templates of the file without a slot: 3"),
    ],
)
def test_one_line_names_the_first_and_counts_the_rest(
    data: dict[str, Any], warning: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps(data))
    said: list[str] = []
    assert Templates.load(file, said.append) == Templates.from_dict(data)
    assert len(said) == (warning is not None)
    for line in said:
        assert line.startswith(f"template file {file}: ") and str(warning) in line and len(line) < 400


def test_a_proposed_file_may_leave_the_subject_out_without_a_line() -> None:
    said: list[str] = []
    templates = {"p": "It is <object>."}
    Templates.from_dict({"$proposed": "by scorer templates try", **templates}, warn=said.append)
    assert not said
    Templates.from_dict(templates, warn=said.append)
    assert len(said) == 1
