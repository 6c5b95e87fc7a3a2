"""Check tokenizer.json before the library opens it: only parts that exported tokenizers have, all of bounded size.

The library also knows normalizers that replace by regular expressions, which may take any time and make a text any
length, and a dropout that makes the ids of one text differ from call to call. A bundle needs none of it: texts are
written in another Unicode form, split as the tokenizers of GPT-2, BERT or SentencePiece split them, and made of tokens
of a vocabulary (byte-level BPE, WordPiece, Unigram). Of regular expressions only the one for runs of blanks is allowed.
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

LONGEST_CHARSMAP = 8 << 20
"""Characters of a precompiled table of normalised forms (SentencePiece's has some 300,000), in base64."""
_FORMS = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "BertNormalizer")
_MODELS = ("BPE", "WordPiece", "Unigram")
_RUNS_OF_BLANKS = {"Regex": " {2,}"}
_PLAIN_REPLACEMENTS = ({"String": "``"}, {"String": "''"}, {"String": "\u00a0"}, {"String": "\n"})
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
    _steps(content, "pre_tokenizer", "pretokenizers", _pre_tokenizer)
    _steps(content, "post_processor", "processors", _post_processor)
    _steps(content, "decoder", "decoders", _only("ByteLevel", "WordPiece", "Metaspace"))
    return content


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):  # which of the two counts, readers do not agree on
        raise UnfitTokenizerError("has a key twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise UnfitTokenizerError(f"is not a tokenizer: {name} is no JSON")


def _model(model: dict[str, Any]) -> None:
    kind = model.get("type", "BPE")
    if kind not in _MODELS:
        raise UnfitTokenizerError(
            f"is not a tokenizer that can be used: its model has the type {kind!r:.80}, expected {' or '.join(_MODELS)}"
        )
    if model.get("dropout") is not None:
        raise UnfitTokenizerError(f"has a dropout of {model['dropout']!r:.80}, so that no text has ids of its own")
    if any(not isinstance(model.get(name), str | None) or len(model.get(name) or "") > 64 for name in _MODEL_STRINGS):
        raise UnfitTokenizerError("is not a tokenizer: its model has a token that is no short string")
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, list if kind == "Unigram" else dict) or not 0 < len(vocabulary) <= MOST_TOKENS:
        raise UnfitTokenizerError(f"is not a tokenizer: its vocabulary must have 1 to {MOST_TOKENS:,} tokens")
    if kind == "Unigram":
        pieces = [entry[0] for entry in vocabulary if isinstance(entry, list) and len(entry) == 2]
        if len(pieces) != len(vocabulary) or not all(isinstance(piece, str) for piece in pieces):
            raise UnfitTokenizerError(
                "is not a tokenizer: its vocabulary holds something other than pieces with scores"
            )
        vocabulary = pieces
    if kind == "WordPiece" and not 0 < _whole(model.get("max_input_chars_per_word", 100)) <= LONGEST_TOKEN:
        raise UnfitTokenizerError(f"is not a tokenizer: max_input_chars_per_word must be 1 to {LONGEST_TOKEN:,}")
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


def _whole(value: Any) -> int:
    return value if type(value) is int else 0


def _normalizer(kind: str, step: dict[str, Any]) -> bool:
    if kind == "Prepend":
        return _short(step.get("prepend"))
    if kind == "Precompiled":  # finite tables: a character becomes a few
        charsmap = step.get("precompiled_charsmap")
        return isinstance(charsmap, str) and 0 < len(charsmap) <= LONGEST_CHARSMAP
    if kind == "Replace":
        pattern = step.get("pattern")
        return (pattern == _RUNS_OF_BLANKS or pattern in _PLAIN_REPLACEMENTS) and _short(step.get("content"))
    return kind in _FORMS


def _pre_tokenizer(kind: str, step: dict[str, Any]) -> bool:
    if kind == "Metaspace":
        return _short(step.get("replacement")) and step.get("prepend_scheme", "always") in ("always", "first", "never")
    return kind in ("ByteLevel", "BertPreTokenizer", "WhitespaceSplit", "Punctuation")


def _short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_PREPENDED


def _post_processor(kind: str, step: dict[str, Any]) -> bool:
    if kind == "TemplateProcessing":
        lists = [step.get("single"), step.get("pair")]
        special = step.get("special_tokens")
        if not isinstance(special, dict) or not all(isinstance(token, dict) for token in special.values()):
            return False
        lists += [token.get(name) for token in special.values() for name in ("ids", "tokens")]
        return len(special) <= MOST_PIECES and all(isinstance(x, list) and len(x) <= MOST_PIECES for x in lists)
    return kind in ("RobertaProcessing", "BertProcessing", "ByteLevel")
