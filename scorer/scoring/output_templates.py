"""The template file of an output, if it can still be found unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import TemplateError
from ..inference.choices import folder_of
from ..metric.templates import Templates
from .signature import Signature


def find_templates(signature: Signature, settings: Mapping[str, Any]) -> tuple[Templates, Path | None] | None:
    """The templates that an output was scored with, and their file; ``None`` when they are not found unchanged.

    Tried: the file that the plan names, else the bundle's own. What is found counts only when its digest is
    that in the signature.

    Args:
        settings: how the run was set up, from its plan.
    """
    digest = str(signature.parts.get("templates", ""))
    if digest == "none" or settings.get("protocol") == "factspotter":  # which words facts for people
        return Templates(), None
    given, bundle = settings.get("templates"), settings.get("bundle")
    if isinstance(given, str):
        path = Path(given)
    elif isinstance(bundle, str):
        path = folder_of(bundle) / "templates.json"
    else:
        return None
    try:
        found = Templates.load(path)
    except TemplateError:
        return None
    return (found, path) if found.is_identified_by(digest) else None
