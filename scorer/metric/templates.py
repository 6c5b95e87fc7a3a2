"""Templates: they turn a triple into a fact, a short sentence for the NLI model.

A template file is JSON, version 1: ``predicate`` → string | list of strings (the first is used) | map from object to
one of those. ``"$aliases"`` maps other spellings of a predicate to the one in the file, ``"$optional"`` lists facts
(``"eatType=restaurant"``) that a text may leave out, ``"$sentences"`` sentences that say several facts of one subject
(:mod:`.joint_templates`). ``"$proposed"`` is a remark, on which nothing depends. The two files of the original project
load unchanged.

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
_SETTINGS = {"$version", "$aliases", "$optional", "$sentences", "$proposed"}
_SLOT = re.compile(r"<(subject|object)>")
_CAMEL = re.compile(r"([a-z])([A-Z])")

Warn = Callable[[str], None]
Key = tuple[str, str | None]
"""A template of the file: its predicate, and in a per-object map the object."""


class Fact(NamedTuple):
    """A triple in words. ``backoff``: no template was found for it."""

    text: str
    backoff: bool


class Lookup(NamedTuple):
    """The template for a triple. ``backoff``: it is the general one. ``predicate``: its key in the file, or the key
    that is missing; ``object``: the key in the map of that predicate, ``None`` if the predicate has no such map."""

    pattern: Pattern
    backoff: bool
    predicate: str
    object: str | None


@dataclass(frozen=True)
class Templates:
    """The templates of one file; without any, every fact is backoff.

    ``plain``: predicate → template. ``by_object``: predicate → object → template. ``aliases``: other spelling →
    predicate. ``optional``: (predicate, object) pairs that the file declares optional. ``joint``: templates of several
    predicates, in the order of the file. ``sha256``: digest of the canonical JSON, so that a reformatted file has the
    same identity.
    """

    plain: Mapping[str, Pattern] = field(default_factory=dict)
    by_object: Mapping[str, Mapping[str, Pattern]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[tuple[str, str]] = frozenset()
    joint: tuple[JointTemplate, ...] = ()
    sha256: str = "none"

    @classmethod
    def load(cls, path: str | Path, warn: Warn | None = None) -> Templates:
        """Read a template file. ``warn``: called with one line if templates lack a slot.

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
        """Build from the parsed JSON of a template file. ``where``: the data, for people; otherwise as :meth:`load`."""
        if not isinstance(data, Mapping):
            raise TemplateError(f"{where}: the top level is {described(data)}, not an object of predicates")
        plain: dict[str, Pattern] = {}
        by_object: dict[str, dict[str, Pattern]] = {}
        for predicate, value in data.items():
            place = f"{where}: {predicate!r}"
            if not isinstance(predicate, str):
                raise TemplateError(f"{where}: the key {described(predicate)} is not a string")
            if predicate.startswith("$"):
                if predicate not in _SETTINGS:
                    raise TemplateError(f"{where}: unknown key {predicate!r}; this version knows {sorted(_SETTINGS)}")
            elif isinstance(value, Mapping):
                by_object[predicate] = {key: _pattern(one, f"{place}, object {key!r}") for key, one in value.items()}
            else:
                plain[predicate] = _pattern(value, place)
        if data.get("$version", VERSION) != VERSION:
            raise TemplateError(f"{where}: version {data['$version']!r}, but this program reads version {VERSION}")
        joint = parse_joint_templates(data.get("$sentences", []), where)
        in_joint = {predicate for template in joint for predicate in template.predicates}
        aliases = _aliases(data.get("$aliases", {}), {*plain, *by_object, *in_joint}, where)
        for other in sorted(in_joint & (aliases.keys() - plain.keys() - by_object.keys())):
            raise TemplateError(
                f"{where}: '$sentences' has <{other}>, an alias of {aliases[other]!r}; write <{aliases[other]}>"
            )
        try:
            optional = parse_optional(data.get("$optional", []))
        except (UsageError, TypeError) as e:
            raise TemplateError(f"{where}: '$optional': {e}") from e
        try:
            kept = {key: value for key, value in data.items() if key != "$proposed"}
            content = json.dumps(kept, sort_keys=True, ensure_ascii=False, default=dict).encode()
        except UnicodeEncodeError as e:  # JSON can encode half of a surrogate pair, which no tokenizer accepts
            half = f"\\u{ord(e.object[e.start]):04x}"
            raise TemplateError(f"{where}: {half} is half of a surrogate pair, not a character; remove it") from e
        except (TypeError, ValueError, RecursionError) as e:  # only the first item of a list was checked before
            raise TemplateError(f"{where}: a value cannot be used ({e}); use strings, lists and objects") from e
        made = cls(plain, by_object, aliases, optional, joint, hashlib.sha256(content).hexdigest())
        if warn is not None and (lacking := made.without_slot()):
            (predicate, value), slots = next(iter(lacking.items()))
            name = f"{predicate!r}" + (f", object {value!r}," if value is not None else "")
            absent = " and ".join(f"<{slot}>" for slot in slots)
            more = f"; templates of the file without a slot: {len(lacking):,}" if len(lacking) > 1 else ""
            warn(f"{where}: the template of {name} has no {absent}{more}")
        return made

    def without_slot(self) -> dict[Key, tuple[str, ...]]:
        """The slots that templates lack: the subject's in any, the object's in those that are not for one object."""
        lacking: dict[Key, tuple[str, ...]] = {}
        for predicate, pattern in self.plain.items():
            lacking[predicate, None] = tuple(slot for slot in ("subject", "object") if slot not in pattern[1::2])
        for predicate, choices in self.by_object.items():
            lacking |= {(predicate, value): ("subject",) for value, p in choices.items() if "subject" not in p[1::2]}
        return {key: slots for key, slots in lacking.items() if slots}

    def canonical(self, predicate: str) -> str:
        """A predicate as the file spells it."""
        has_template = predicate in self.plain or predicate in self.by_object
        return predicate if has_template else self.aliases.get(predicate, predicate)

    def sentences_of(self, predicates: Iterable[str]) -> dict[str, str]:
        """Of predicates that data have, those that a sentence says together with others that they have, and the first
        such sentence of each, for people."""
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
        found = self.lookup(triple)
        values = {"subject": triple.subject, "object": unquoted(triple.object)}
        return Fact(fill_slots(found.pattern, values), found.backoff)

    def is_optional(self, triple: Triple, optional: frozenset[tuple[str, str]]) -> bool:
        """Whether a text may leave this triple out, under either spelling of its predicate."""
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
    if (other := OTHER_SLOT.search(value)) is not None:
        raise TemplateError(f"{where}: found {other[0]} in {value!r}; did you mean <{other[1].lower()}>?")
    return tuple(_SLOT.split(value))


def _aliases(value: Any, known: set[str], where: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TemplateError(f"{where}: '$aliases' is {described(value)}, not an object of spelling → predicate")
    for other, predicate in value.items():
        if not isinstance(predicate, str) or predicate not in known:
            raise TemplateError(f"{where}: alias {other!r} points to {predicate!r}, which has no template in the file")
    return dict(value)
