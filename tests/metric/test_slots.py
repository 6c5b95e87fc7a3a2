from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scorer.metric.templates import Templates, load_templates, slot_warning

WHOLE = {"p": "<subject> is <object>.", "q": {"yes": "<subject> does."}, "r": ["<object> of <subject>", "unused"]}


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        (WHOLE, None),
        ({"p": "<subject> is it."}, "the template of 'p' has no <object>, so its facts do not name the object: "),
        ({"p": ["It is <object>.", "<subject> <object>"]}, "the template of 'p' has no <subject>"),
        ({"p": "<Subject> is <object >."}, "has no <subject> and <object>"),
        (
            {"q": {"yes": "It does.", "no": "<subject> does not."}},
            "the template of 'q', object 'yes', has no <subject>",
        ),
        (WHOLE | {"a": "x", "b": "y", "c": {"d": "z"}}, "(3 templates of the file lack a slot)"),
    ],
)
def test_one_line_names_the_first_and_counts_the_rest(
    data: dict[str, Any], warning: str | None, tmp_path: Path
) -> None:
    found = slot_warning(Templates.from_dict(data), "here")
    if warning is None:
        assert found is None
    else:
        assert found is not None and warning in found and found.startswith("here: ")
        assert len(found) < 400
    file = tmp_path / "t.json"
    file.write_text(json.dumps(data))
    said: list[str] = []
    assert load_templates(file, said.append) == Templates.from_dict(data)
    assert len(said) == (warning is not None)
