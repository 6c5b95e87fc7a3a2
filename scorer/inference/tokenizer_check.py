"""A look into tokenizer.json before the library sees it: only what an exported tokenizer has, and what stays bounded.

The library also knows normalizers that replace by regular expressions, which may take any time and make a text any
length, and a dropout that makes the ids of one text differ from call to call. A bundle needs none of it: texts are
written in another Unicode form at most, split as GPT-2's tokenizer splits them, and merged into tokens of a vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MOST_STEPS = 8
LONGEST_PREPENDED = 16
LONGEST_TOKEN = 4096
MOST_TOKENS = 1 << 20
MOST_ADDED = 4096
MOST_PIECES = 64

_FORMS = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip")
_MODEL_STRINGS = ("unk_token", "continuing_subword_prefix", "end_of_word_suffix")


class UnfitTokenizerError(ValueError):
    """What is wrong, to be told with the file's name."""


def check_tokenizer(text: str | bytes) -> dict[str, Any]:
    """Read the content of tokenizer.json, if it is one that may be loaded.

    Raises:
        UnfitTokenizerError: it is damaged, or has a part that is not allowed; says which.
    """
    try:
        content = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except UnfitTokenizerError:
        raise
    except (ValueError, RecursionError) as e:
        raise UnfitTokenizerError(f"is not a tokenizer: {e}") from e
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise UnfitTokenizerError("is not a tokenizer: it has no model")
    _model(content["model"])
    _added(content.get("added_tokens") or [])
    _steps(content, "normalizer", "normalizers", _normalizer)
    _steps(content, "pre_tokenizer", "pretokenizers", _only("ByteLevel"))
    _steps(content, "post_processor", "processors", _post_processor)
    _steps(content, "decoder", "decoders", _only("ByteLevel"))
    return content


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):  # which of the two counts, readers do not agree on
        raise UnfitTokenizerError("has a key twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise UnfitTokenizerError(f"is not a tokenizer: {name} is no JSON")


def _model(model: dict[str, Any]) -> None:
    if model.get("type", "BPE") != "BPE":
        raise UnfitTokenizerError(
            f"is not a tokenizer that can be used: its model has the type {model['type']!r:.80}, expected BPE"
        )
    if model.get("dropout") is not None:
        raise UnfitTokenizerError(f"has a dropout of {model['dropout']!r:.80}, so that no text has ids of its own")
    if any(not isinstance(model.get(name), str | None) or len(model.get(name) or "") > 64 for name in _MODEL_STRINGS):
        raise UnfitTokenizerError("is not a tokenizer: its model has a token that is no short string")
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict) or not 0 < len(vocabulary) <= MOST_TOKENS:
        raise UnfitTokenizerError(f"is not a tokenizer: its vocabulary must have 1 to {MOST_TOKENS:,} tokens")
    if max(map(len, vocabulary)) > LONGEST_TOKEN:
        raise UnfitTokenizerError(f"has a token of more than {LONGEST_TOKEN:,} characters")


def _added(tokens: Any) -> None:
    if not isinstance(tokens, list) or len(tokens) > MOST_ADDED:
        raise UnfitTokenizerError(f"is not a tokenizer: added_tokens must be a list of at most {MOST_ADDED:,}")
    for token in tokens:
        content = token.get("content") if isinstance(token, dict) else None
        if not isinstance(content, str) or not 0 < len(content) <= LONGEST_TOKEN:
            raise UnfitTokenizerError("is not a tokenizer: an added token has no content, or a very long one")


def _steps(content: dict[str, Any], part: str, inner: str, check: Callable[[str, dict[str, Any]], bool]) -> None:
    """Check a part that is one step, a ``Sequence`` of some, or ``null``."""
    found = content.get(part)
    if found is None:
        return
    steps = found.get(inner) if isinstance(found, dict) and found.get("type") == "Sequence" else [found]
    if not isinstance(steps, list) or len(steps) > MOST_STEPS:
        raise UnfitTokenizerError(f"is not a tokenizer: its {part} must have at most {MOST_STEPS} steps")
    for step in steps:
        kind = step.get("type") if isinstance(step, dict) else None
        if not isinstance(kind, str) or not check(kind, step):
            raise UnfitTokenizerError(
                f"has the {part} {kind or step!r:.80}, which no exported tokenizer has, or not in this form"
            )


def _only(*kinds: str) -> Callable[[str, dict[str, Any]], bool]:
    return lambda kind, step: kind in kinds


def _normalizer(kind: str, step: dict[str, Any]) -> bool:
    prepended = step.get("prepend")
    return kind in _FORMS or (kind == "Prepend" and isinstance(prepended, str) and len(prepended) <= LONGEST_PREPENDED)


def _post_processor(kind: str, step: dict[str, Any]) -> bool:
    if kind == "TemplateProcessing":
        lists = [step.get("single"), step.get("pair")]
        special = step.get("special_tokens")
        if not isinstance(special, dict) or not all(isinstance(token, dict) for token in special.values()):
            return False
        lists += [token.get(name) for token in special.values() for name in ("ids", "tokens")]
        return len(special) <= MOST_PIECES and all(isinstance(x, list) and len(x) <= MOST_PIECES for x in lists)
    return kind in ("RobertaProcessing", "ByteLevel")
