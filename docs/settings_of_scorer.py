"""Extension of Griffe, which reads the code for the site: the options of ``Scorer`` with their types and defaults."""

from __future__ import annotations

import re
from typing import Any

import griffe

from scorer.scoring.settings import Settings

ROLE = re.compile(r":\w+:`[.~]*([\w.]+)`")


class SettingsOfScorer(griffe.Extension):
    """Put the fields of ``Settings`` in place of ``**settings``, as ``help(Scorer)`` does."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each class, function and attribute: names in docstrings are code, without Sphinx's roles."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(r"`\1`", obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called when all modules of a package are read."""
        fields, scorer = pkg["scoring.settings.Settings"].attributes, pkg["scoring.scorer.Scorer"]
        own = [one for one in scorer["__init__"].parameters if one.kind != griffe.ParameterKind.var_keyword]
        defaults = {name: value for name, value in vars(Settings("")).items() if name != "bundle"}
        options = [
            griffe.Parameter(
                name,
                annotation=fields[name].annotation,
                kind=griffe.ParameterKind.keyword_only,
                default=f"{type(value).__name__}()" if hasattr(value, "__dataclass_fields__") else repr(value),
            )
            for name, value in defaults.items()
        ]
        scorer["__init__"].parameters = griffe.Parameters(*own[:2], *options, *own[2:])
