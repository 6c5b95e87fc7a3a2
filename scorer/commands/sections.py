"""Help in sections: the options of a command by the group that their field names."""

from __future__ import annotations

from typing import Any

GROUPS = ("Input columns and format", "Facts", "Model", "Output", "Many machines")
"""In their order, after the options without a group."""
_FEWEST = 3
"""Options of fewer groups are one list."""


def help_sections(command: Any, context: Any) -> list[tuple[str, list[Any]]]:
    """The parameters of a command by the title of their section of the help; in each, required ones first."""
    sections: dict[str, list[Any]] = {"Arguments": [], "Options": []}
    parameters = command.get_params(context)
    groups = {getattr(parameter, "rich_help_panel", None) for parameter in parameters} & {*GROUPS}
    for title in GROUPS if len(groups) >= _FEWEST else ():
        sections[title] = []
    for parameter in parameters:
        group = getattr(parameter, "rich_help_panel", None) or "Options"
        title = "Arguments" if parameter.param_type_name == "argument" else group if group in sections else "Options"
        sections[title].append(parameter)
    return [
        (title, sorted(members, key=lambda parameter: not parameter.required))
        for title, members in sections.items()
        if members
    ]
