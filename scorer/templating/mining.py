"""Values of a table in texts: their positions, and the words around them as candidates for templates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

SUBJECT = "subject"
_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")
_SLOT = re.compile(r"<([^<>]+)>")
_NUMBER = re.compile(r"-?[0-9]+")
_BEFORE_SLOT = re.compile(r"\b(at|on|in|by|from|near|for|with|of)\Z", re.IGNORECASE)
_BETWEEN_NUMBERS = r"\s?[-:/]\s?"
_CLAUSE_STARTS = re.compile(r"(?:^|[,;:(]|\b(?:and|but|while|when|where|as|after|before|that))\s*\Z", re.IGNORECASE)
_LOOSE_END = re.compile(r"[\s,;:]*\b(?:at|on|in|by|from|near|for|with|of|and|before|after|to|the|a|an)?[\s,;:]*\Z")


def split(text: str) -> list[str]:
    """The sentences of a text, roughly."""
    return [sentence.strip() for sentence in _ENDS.split(text) if sentence.strip()]


def stands_in(value: str, text: str) -> bool:
    """Whether a text has a value as a whole word or number, in any case."""
    return re.search(_pattern_of(value), text, re.IGNORECASE) is not None


def is_number(value: str) -> bool:
    """Whether a value is a whole number."""
    return _NUMBER.fullmatch(value) is not None


def slots_of(sentence: str) -> list[str]:
    """The slots of a sentence, each once, in order."""
    return list(dict.fromkeys(_SLOT.findall(sentence)))


def put_slots(sentence: str, values: Mapping[str, str]) -> str:
    """A sentence with slots in place of values; equal values take their slots in turn.

    Args:
        values: by the name of the slot.
    """
    slots: dict[str, list[str]] = {}
    for slot, value in values.items():
        if value and "<" not in value:
            slots.setdefault(value.lower(), []).append(slot)
    if not slots:
        return sentence
    longest_first = sorted(slots, key=len, reverse=True)
    pattern = "|".join(_pattern_of(value) for value in longest_first)

    def slot_of(match: re.Match[str]) -> str:
        names = slots[match[0].lower()]
        names.append(names.pop(0))
        return f"<{names[-1]}>"

    return re.sub(pattern, slot_of, sentence, flags=re.IGNORECASE)


def side_by_side(first: str, second: str, text: str) -> str | None:
    """The words of a text that say two numbers as one thing, such as ``2-0``; ``None`` if it does not."""
    match = re.search(rf"(?<![\w.,-]){re.escape(first)}{_BETWEEN_NUMBERS}{re.escape(second)}(?![\w.,-]*[0-9])", text)
    return match[0] if match is not None else None


def words_of_one(sentences: Iterable[str], predicate: str, limit: int, *, one_subject: bool) -> list[str]:
    """Templates of one predicate from sentences with slots: the most frequent that say it alone, then words before it.

    Args:
        limit: number of templates of each kind. A template is used only if at least two sentences have its words.
        one_subject: whether the facts of each row have one subject, so that a template need not name it.
    """
    words_alone, words_before = Counter[str](), Counter[str]()
    for sentence in sentences:
        slots = slots_of(sentence)
        if predicate not in slots or sentence.count(f"<{predicate}>") > 1:
            continue
        if set(slots) == {predicate, SUBJECT} or (one_subject and slots == [predicate]):
            words_alone[sentence.replace(f"<{predicate}>", "<object>")] += 1
        word = _BEFORE_SLOT.search(sentence.partition(f"<{predicate}>")[0].rstrip())
        if word is not None:
            words_before[f"<{SUBJECT}> was {word[0].lower()} <object>."] += 1
    return [words for kind in (words_alone, words_before) for words, count in kind.most_common(limit) if count > 1]


def words_of_several(sentences: Iterable[str], predicates: Sequence[str], limit: int) -> list[str]:
    """The most frequent words that say all of some predicates and nothing else, cut from sentences with slots."""
    counts = Counter[str]()
    for sentence in sentences:
        if (words := _cut(sentence, set(predicates))) is not None:
            counts[words] += 1
    return [words for words, count in counts.most_common(limit) if count > 1 or limit > 3]


def _cut(sentence: str, predicates: set[str]) -> str | None:
    """The clause of a sentence that says some predicates, of the subject if it names it, without other slots.

    ``None`` if there is no such clause: words from the middle of a clause read badly.
    """
    parts = _SLOT.split(sentence)
    slot_positions = [position for position in range(1, len(parts), 2) if parts[position] in predicates]
    if {parts[position] for position in slot_positions} != predicates or len(slot_positions) > len(predicates):
        return None
    first, last = slot_positions[0], slot_positions[-1]
    if first > 1 and parts[first - 2] == SUBJECT:
        first -= 2
    is_whole = first == 1 or _CLAUSE_STARTS.search(parts[first - 1].rstrip()) is not None
    if not is_whole or any(parts[position] not in {*predicates, SUBJECT} for position in range(first, last, 2)):
        return None
    start = parts[first - 1] if first == 1 else ""
    end = parts[last + 1] if last + 2 >= len(parts) else _LOOSE_END.sub("", parts[last + 1])
    inner = "".join(
        f"<{part}>" if position % 2 else part for position, part in enumerate(parts[first : last + 1], first)
    )
    return f"{start}{inner}{end}".strip().rstrip(".!?,;:") + "."


def _pattern_of(value: str) -> str:
    return rf"(?<!\w)(?<![0-9][.,]){re.escape(value)}(?!\w)(?![.,][0-9])"
