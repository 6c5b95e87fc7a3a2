"""Templates: they turn a triple into a fact, a short sentence for the NLI model.

A template file is JSON, version 1: ``predicate`` → string | list of strings (the first is used) | map from object to
one of those. ``"$aliases"`` maps other spellings of a predicate to the one in the file, ``"$optional"`` lists facts
(``"eatType=restaurant"``) that a text may leave out, ``"$sentences"`` sentences that say several facts of one subject
(:mod:`.joint_templates`). ``"$proposed"`` is a remark, and templates with it may lack the subject. The two files
of the original project load unchanged.

A triple without a template uses ``The <predicate> of <subject> is <object>.`` (the paper's *backoff*, section 3);
every use of it is counted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import TemplateError, UsageError
from ..system.arguments import described, strings
from ..system.files import read_small
from ..system.numbers import unique_keys
from .facts import Triple
from .joint_templates import JointTemplate, parse_joint_templates
from .slots import OTHER_SLOT, Pattern, fill_slots, unquoted

VERSION = 1
LARGEST_FILE = 64 * 1024 * 1024  # bytes
PROPOSED = "$proposed"
"""The key of a remark in a file of proposed templates; it does not change what the file means."""
_SETTINGS = {"$version", "$aliases", "$optional", "$sentences", PROPOSED}
_SLOT = re.compile(r"<(subject|object)>")
_CAMEL = re.compile(r"([a-z])([A-Z])")

Warn = Callable[[str], None]
Key = tuple[str, str | None]
"""A template of the file: its predicate, and in a per-object map the object."""


class Fact(NamedTuple):
    """A triple in words."""

    text: str
    backoff: bool
    """Whether it has no template."""


class Lookup(NamedTuple):
    """The template for a triple."""

    pattern: Pattern
    backoff: bool
    """Whether it is the general one."""
    predicate: str
    """Its key in the file, or the missing key."""
    object: str | None
    """The key in the map of that predicate; ``None`` for a predicate without a map."""


@dataclass(frozen=True)
class Templates:
    """The templates of one file; without any, every fact is backoff."""

    plain: Mapping[str, Pattern] = field(default_factory=dict)
    """Predicate → template."""
    by_object: Mapping[str, Mapping[str, Pattern]] = field(default_factory=dict)
    """Predicate → object → template."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other spelling → predicate."""
    optional: frozenset[tuple[str, str]] = frozenset()
    """(predicate, object) pairs that the file declares optional."""
    joint: tuple[JointTemplate, ...] = ()
    """Templates of several predicates, in the order of the file."""
    sha256: str = "none"
    """Digest of the canonical JSON, so that a reformatted file has the same identity."""

    @classmethod
    def load(cls, path: str | Path, warn: Warn | None = None) -> Templates:
        """Read a template file. ``warn``: called with one line if templates lack a slot, but for proposed ones.

        Raises:
            TemplateError: unreadable, not JSON, a duplicate key, or not of the form above; names the file and the key.
        """
        try:
            data = json.loads(read_small(Path(path), LARGEST_FILE).decode("utf-8-sig"), object_pairs_hook=unique_keys)
        except OSError as e:
            raise TemplateError(f"template file {path}: {e.strerror or e}; give a readable JSON file") from e
        except (RecursionError, ValueError) as e:
            raise TemplateError(f"template file {path} is not valid JSON ({e}); fix it or pass another file") from e
        return cls.from_dict(data, f"template file {path}", warn)

    @classmethod
    def from_dict(cls, data: Any, where: str = "templates", warn: Warn | None = None) -> Templates:
        """Build from the parsed JSON of a template file, as :meth:`load`. ``where``: name of the data for messages."""
        if not isinstance(data, Mapping):
            raise TemplateError(f"{where}: the top level is {described(data)}, not an object of predicates")
        plain: dict[str, Pattern] = {}
        by_object: dict[str, dict[str, Pattern]] = {}
        for predicate, value in data.items():
            where_predicate = f"{where}: {predicate!r}"
            if not isinstance(predicate, str):
                raise TemplateError(f"{where}: the key {described(predicate)} is not a string")
            if predicate.startswith("$"):
                if predicate not in _SETTINGS:
                    raise TemplateError(f"{where}: unknown key {predicate!r}; this version knows {sorted(_SETTINGS)}")
            elif isinstance(value, Mapping):
                by_object[predicate] = {
                    key: _pattern(template, f"{where_predicate}, object {key!r}") for key, template in value.items()
                }
            else:
                plain[predicate] = _pattern(value, where_predicate)
        if data.get("$version", VERSION) != VERSION:
            raise TemplateError(f"{where}: version {data['$version']!r}, but this program reads version {VERSION}")
        joint = parse_joint_templates(data.get("$sentences", []), where)
        in_joint = {predicate for template in joint for predicate in template.predicates}
        aliases = _aliases(data.get("$aliases", {}), {*plain, *by_object, *in_joint}, where)
        for alias in sorted(in_joint & (aliases.keys() - plain.keys() - by_object.keys())):
            raise TemplateError(
                f"{where}: '$sentences' has <{alias}>, an alias of {aliases[alias]!r}; write <{aliases[alias]}>"
            )
        try:
            optional = parse_optional(data.get("$optional", []))
        except (UsageError, TypeError) as e:
            raise TemplateError(f"{where}: '$optional': {e}") from e
        try:
            identity = {key: value for key, value in data.items() if key != PROPOSED}
            content = json.dumps(identity, sort_keys=True, ensure_ascii=False, default=dict).encode()
        except UnicodeEncodeError as e:  # JSON can encode half of a surrogate pair, which no tokenizer accepts
            half = f"\\u{ord(e.object[e.start]):04x}"
            raise TemplateError(f"{where}: {half} is half of a surrogate pair, not a character; remove it") from e
        except (TypeError, ValueError, RecursionError) as e:  # only the first item of a list was checked before
            raise TemplateError(f"{where}: a value cannot be used ({e}); use strings, lists and objects") from e
        templates = cls(plain, by_object, aliases, optional, joint, hashlib.sha256(content).hexdigest())
        if warn is not None and PROPOSED not in data and (incomplete := templates.without_slot()):
            (predicate, value), slots = next(iter(incomplete.items()))
            name = f"{predicate!r}" + (f", object {value!r}," if value is not None else "")
            missing = " and ".join(f"<{slot}>" for slot in slots)
            total = f"; templates of the file without a slot: {len(incomplete):,}" if len(incomplete) > 1 else ""
            warn(f"{where}: the template of {name} has no {missing}{total}")
        return templates

    def without_slot(self) -> dict[Key, tuple[str, ...]]:
        """The missing slots of templates: the subject's, and the object's in a template that is not for one object."""
        missing: dict[Key, tuple[str, ...]] = {}
        for predicate, pattern in self.plain.items():
            missing[predicate, None] = tuple(slot for slot in ("subject", "object") if slot not in pattern[1::2])
        for predicate, choices in self.by_object.items():
            missing |= {(predicate, value): ("subject",) for value, p in choices.items() if "subject" not in p[1::2]}
        return {key: slots for key, slots in missing.items() if slots}

    def canonical(self, predicate: str) -> str:
        """A predicate as the file spells it."""
        has_template = predicate in self.plain or predicate in self.by_object
        return predicate if has_template else self.aliases.get(predicate, predicate)

    def sentences_of(self, predicates: Iterable[str]) -> dict[str, str]:
        """The first sentence for each of the ``predicates`` that a sentence says together with others of them, in the
        notation of a template file."""
        spellings = {predicate: self.canonical(predicate) for predicate in predicates}
        in_data, sentences = set(spellings.values()), dict[str, str]()
        for template in self.joint:
            if in_data.issuperset(template.predicates):
                sentences = dict.fromkeys(template.predicates, str(template)) | sentences
        return {predicate: sentences[name] for predicate, name in spellings.items() if name in sentences}

    def lookup(self, triple: Triple) -> Lookup:
        key, value = self.canonical(triple.predicate), None
        choices = self.by_object.get(key)
        if choices is None:
            pattern = self.plain.get(key)
        else:
            value = triple.object if triple.object in choices else unquoted(triple.object)
            pattern = choices.get(value)
        backoff = (f"The {split_camel_case(triple.predicate)} of ", "subject", " is ", "object", ".")
        return Lookup(pattern or backoff, pattern is None, key, value)

    def fill(self, triple: Triple) -> Fact:
        """Verbalise a triple (the paper, section 3); a fact that was given as a sentence is used as it is.

        Quotes around the object are dropped, ``_`` becomes a space, slots are filled in one pass so that an object
        that reads ``<subject>`` stays as it is.
        """
        if not triple.subject:  # it was given as a sentence
            return Fact(triple.predicate, backoff=False)
        template = self.lookup(triple)
        values = {"subject": triple.subject, "object": unquoted(triple.object)}
        return Fact(fill_slots(template.pattern, values), template.backoff)

    def is_optional(self, triple: Triple, optional: frozenset[tuple[str, str]]) -> bool:
        """Whether a text may omit a triple, under either spelling of its predicate."""
        value, canonical = unquoted(triple.object), self.aliases.get(triple.predicate, triple.predicate)
        return (triple.predicate, value) in optional or (canonical, value) in optional


def parse_optional(specs: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Read ``predicate=object`` specifications.

    Raises:
        UsageError: a specification without ``=``, or with an empty side.
        TypeError: a single string instead of a list, or an item that is not a string.
    """
    pairs = set()
    for spec in strings("specs", specs):
        predicate, equals, value = (part.strip() for part in spec.partition("="))
        if not (equals and predicate and value):
            raise UsageError(f"optional fact {spec!r}: write PREDICATE=OBJECT, for example eatType=restaurant")
        pairs.add((predicate, value))
    return frozenset(pairs)


def split_camel_case(predicate: str) -> str:
    """A predicate as words: divided at ``_``, and where a capital follows a small letter."""
    return _CAMEL.sub(r"\1 \2", predicate).replace("_", " ")


def _pattern(value: Any, where: str) -> Pattern:
    if isinstance(value, list) and value:
        value = value[0]  # choosing among candidates is `scorer templates`' work, not the scorer's
    if not isinstance(value, str) or not value.strip():
        raise TemplateError(
            f"{where}: found {described(value)}; a template is a string, or a list whose first item is one"
        )
    if (match := OTHER_SLOT.search(value)) is not None:
        raise TemplateError(f"{where}: found {match[0]} in {value!r}; did you mean <{match[1].lower()}>?")
    return tuple(_SLOT.split(value))


def _aliases(value: Any, predicates: set[str], where: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TemplateError(f"{where}: '$aliases' is {described(value)}, not an object of spelling → predicate")
    for spelling, predicate in value.items():
        if not isinstance(predicate, str) or predicate not in predicates:
            raise TemplateError(
                f"{where}: alias {spelling!r} points to {predicate!r}, which has no template in the file"
            )
    return dict(value)
