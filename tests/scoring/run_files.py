"""Files of ``tests/fixtures/run_files``: plans, summaries and receipts as a run wrote them before they had types.

``details``: ``run --details --sentences --exact --limit 20``; ``reuse``: ``run --reuse A --limit 30``; ``part``:
``run --part 1/2`` of a part that has no shard. All of the sample that ships; only paths were made neutral.
"""

from __future__ import annotations

import json
from pathlib import Path

from scorer.system.json_fields import Fields

FOLDER = Path(__file__).parents[1] / "fixtures" / "run_files"
SCHEMA_1 = Path(__file__).parents[1] / "fixtures" / "output_schema_1" / "out"


def fields(path: Path) -> Fields:
    """The fields of a file."""
    return Fields.of(json.loads(path.read_bytes()), str(path))


def written(content: object) -> bytes:
    """An object as a run writes it: sorted keys, one space of indent, a newline at the end, ASCII."""
    return (json.dumps(content, sort_keys=True, indent=1) + "\n").encode("ascii")
