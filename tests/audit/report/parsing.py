"""Read a page as elements and texts, strictly: an end tag that fits nothing is a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "wbr"}


@dataclass
class Node:
    """An element with its attributes and what is in it."""

    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.walk()

    def find(self, name: str, **attributes: str) -> list[Node]:
        """Elements of this name with these attributes."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        return [node for node in self.walk() if node.name == name and wanted.items() <= node.attributes.items()]

    def one(self, name: str, **attributes: str) -> Node:
        (found,) = self.find(name, **attributes)
        return found

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def words(self) -> str:
        """The text with single blanks, no-break ones included."""
        return re.sub(r"\s+", " ", self.text)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Node("root")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        assert len(attrs) == len(node.attributes), f"<{tag}> has an attribute twice: {attrs}"
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"</{tag}> fits nothing"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration or a comment: {data[:80]!r}")

    handle_comment = handle_pi = unknown_decl


def parse(markup: str) -> Node:
    """The tree of a page or a piece of one; every element closed, by its own end tag."""
    builder = _Builder()
    builder.feed(markup)
    builder.close()
    (root,) = builder.open
    return root
