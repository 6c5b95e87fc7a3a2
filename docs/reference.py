"""Options of all commands from their own help, and the parts of an audit's document from its types, as Markdown.

The site has both; ``python docs/reference.py`` prints the first. An option or argument that an earlier command has with
the same help is named, not described again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import typer

from scorer.audit import document
from scorer.commands import app
from scorer.commands.sections import GROUPS, help_sections

WIDTH = 110
Record = tuple[str, str]


def commands() -> Iterator[tuple[str, Any, typer.Context]]:
    """Every command with its context, those of groups as ``group command``."""
    group: Any = typer.main.get_command(app)
    yield from _commands(group, typer.Context(group, info_name="scorer", terminal_width=WIDTH), "")


def _commands(group: Any, context: typer.Context, prefix: str) -> Iterator[tuple[str, Any, typer.Context]]:
    for name, command in group.commands.items():
        inner = typer.Context(command, info_name=name, parent=context, terminal_width=WIDTH)
        if hasattr(command, "commands"):
            yield from _commands(command, inner, f"{prefix}{name} ")
        else:
            yield prefix + name, command, inner


def names() -> list[str]:
    """The names of all commands."""
    return [name for name, _, _ in commands()]


def records(command: Any, context: typer.Context) -> list[Record]:
    """What a command takes, without ``--help``: names and help of each argument and option."""
    return records_of(command.params, context)


def records_of(parameters: Iterable[Any], context: typer.Context) -> list[Record]:
    """The same of some parameters."""
    found = (parameter.get_help_record(context) for parameter in parameters)
    return [(one[0], one[1].replace("env var: ", "")) for one in found if one and one[0] != "-h, --help"]


def page() -> str:
    """A section for each command: its help, and each option at the first command that has it."""
    first: dict[Record, str] = {}
    names_of: dict[str, list[str]] = {}
    parts: list[str] = []
    for name, command, context in commands():
        found = records(command, context)
        own = [record for record in found if first.setdefault(record, name) == name]
        parts += [f"## `scorer {name}`", "\n\n".join(map(unwrapped, command.help.split("\n\n")))]
        if own:
            parts.append(listed(own, command, context))
        names_of[name] = [one[0].split()[0] for one in own]
        for other in dict.fromkeys(first[record] for record in found if record not in own):
            also = [one[0].split()[0] for one in found if one not in own and first[one] == other]
            left = [option for option in names_of[other] if option not in [*also, *names_of[name]]]
            fewer, word = (left, ", all except") if 0 < len(left) < len(also) else (also, "")
            parts.append(f"As `scorer {other}`{word}: " + " ".join(f"`{option}`" for option in fewer))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def unwrapped(paragraph: str) -> str:
    """A paragraph of help as Markdown."""
    return " ".join(paragraph.split()).replace("<", "\\<").replace("*", "\\*")


def listed(own: list[Record], command: Any, context: typer.Context) -> str:
    """Names and help in two columns, in the sections of the help; an argument without its type, an option without a
    lower end of 0 or 1."""
    formatter = context.make_formatter()
    for title, parameters in help_sections(command, context):
        records = [record for record in records_of(parameters, context) if record in own]
        plain = [(name, re.sub(r"(; |(?<=\[))x>=[01](?=\])", "", text).replace("  []", "")) for name, text in records]
        plain = [(name if name[0] == "-" else name.split(" <")[0], text) for name, text in plain]
        if plain and title in GROUPS:
            formatter.write(f"\n{title}:\n")
        if plain:
            formatter.write_dl(plain)
    return f"```text\n{formatter.getvalue().rstrip()}\n```"


def parts() -> str:
    """A section for each part of an audit's document: its docstring, and its keys with their types."""
    kinds = [kind for kind in vars(document).values() if getattr(kind, "__struct_fields__", ())]
    kinds.sort(key=lambda kind: kind is not document.Document)
    made = []
    for kind in kinds:
        types = {
            name: text
            for base in reversed(kind.__mro__)
            for name, text in vars(base).get("__annotations__", {}).items()
        }
        keys = ", ".join(
            f"`{key}` {types[name]}"
            for name, key in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        )
        made.append(f"### `{kind.__name__}`\n\n{unwrapped(kind.__doc__).replace('``', '`')}\n\nKeys: {keys}")
    return "\n\n".join(made) + "\n"


if __name__ == "__main__":
    print(page(), end="")
