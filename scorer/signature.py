"""What a score depends on, in one line, in the manner of sacreBLEU. Scores compare only under equal signatures.

``model:<name>@<sha12>|prec:|ep:|exact:|templates:<sha12>|protocol:|optional:|checks:|maxlen:|overlong:|metric:<rev>``;
after ``checks`` comes ``sentences:<splitter>`` where sentences were checked, and nothing where they were not.
"""

from __future__ import annotations

from .inference.engine import Engine
from .metric import REVISION
from .metric.checks import Options
from .metric.templates import Templates

FOOTER_KEY = "d2t_scorer.signature"
"""The key of the signature in a Parquet footer."""


def signature(engine: Engine, templates: Templates, options: Options, *, truncate: bool) -> str:
    """The signature of scores by this engine, with these templates and options."""
    parts = {
        "model": f"{engine.bundle.name}@{engine.bundle.sha256[:12]}",
        "prec": engine.precision,
        "ep": engine.device.kind,
        "exact": "yes" if engine.exact else "no",
        "templates": templates.sha256[:12],
        "protocol": options.protocol,
        "optional": ",".join(sorted("=".join(pair) for pair in options.optional)) or "none",
        "checks": options.sides,
        **({"sentences": options.sentences} if options.sentences else {}),
        "maxlen": str(engine.bundle.max_length),
        "overlong": "truncate" if truncate else "error",
        "metric": str(REVISION),
    }
    return "|".join(f"{key}:{_clean(value)}" for key, value in parts.items())


def parse(line: str) -> dict[str, str]:
    """The parts of a signature by key."""
    return dict(part.partition(":")[::2] for part in line.split("|"))


def differences(one: str, other: str) -> list[str]:
    """The parts in which two signatures differ, as ``key: one → other``."""
    a, b = parse(one), parse(other)
    return [f"{key}: {a.get(key)} → {b.get(key)}" for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)]


def _clean(value: str) -> str:
    """A bar would read as the start of the next part."""
    return value.replace("%", "%25").replace("|", "%7C").replace("\n", "%0A")
