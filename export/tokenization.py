"""The checkpoint's tokenizer as one tokenizer.json, and its layout of a pair, derived from it and checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scorer.errors import CheckpointError, first_line
from scorer.inference.bundle import PairLayout

from . import transformers5
from .families import BPE, WORDPIECE, Family
from .source import Source, read_json

_EXAMPLES = (
    "Blue Spice is a pub.", "blue", "A", "", " ", "  two  blanks ", "line\nbreak\ttab", "naïve café 東京 🍜 £20–25",
    "The birth Place of Alan Bean is Wheeler, Texas.", "don't", "1,234.5", "O'Neill's (London)", "_under_score_",
)  # fmt: skip
"""Texts on which the layout is proved: blanks at either end, none at all, bytes outside ASCII."""


class PairTokenizer:
    """A tokenizer with the layout of its pairs.

    Args:
        text: the content of tokenizer.json; truncation and padding are turned off.
        pad_token: the padding token.
        where: the file, for messages.
        kinds: kinds of tokenizers that the family has.
        segments: whether its model reads segment ids.
        hypothesis_first: whether pairs begin with the hypothesis.
        one_text: whether a pair is one text with a blank between its halves, and no segment ids.

    Raises:
        CheckpointError: not a tokenizer, or its pairs are not prefix + premise + separator + hypothesis + suffix.
    """

    def __init__(
        self,
        text: str,
        pad_token: str,
        where: str,
        kinds: Sequence[str] = (BPE,),
        segments: bool = False,
        hypothesis_first: bool = False,
        one_text: bool = False,
    ) -> None:
        from tokenizers import Tokenizer

        try:
            content = json.loads(text)
            content["truncation"] = content["padding"] = None
            self.text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
            self._tokenizer = Tokenizer.from_str(self.text)
        except Exception as e:  # the library raises plain Exception for every kind of damage
            raise CheckpointError(f"{where} is not a tokenizer ({e}); download the checkpoint again") from e
        self._where = where
        if content["model"].get("type") not in kinds:
            raise CheckpointError(
                f"{where} is a {content['model'].get('type')} tokenizer; export supports {' or '.join(kinds)} with "
                "this architecture"
            )
        if content["model"].get("dropout"):
            raise CheckpointError(f"{where} has a dropout, so that no text has ids of its own; remove it")
        # Text is data: a literal </s> in it is characters, as at score time.
        self._tokenizer.encode_special_tokens = True
        pad_id = self._tokenizer.token_to_id(pad_token)
        if pad_id is None:
            raise CheckpointError(f"{where} has no padding token {pad_token!r}; add it, and save the tokenizer again")
        self._segments, self._hypothesis_first, self._one_text = segments and not one_text, hypothesis_first, one_text
        self.layout = self._derive_one_text(pad_id) if one_text else self._derive(pad_id)
        self.check_pair_encoding((a, b) for a in self._examples for b in self._examples)

    def length(self, premise: str, hypothesis: str) -> int:
        """Tokens of a pair, special tokens included."""
        return self.layout.overhead + sum(map(len, self._halves(premise, hypothesis)))

    def encode(self, premise: str, hypothesis: str) -> list[int]:
        """Ids of a pair, by the tokenizer's own pair encoding."""
        first, second = self._ordered(premise, hypothesis)
        texts = (f"{first} {second}",) if self._one_text else (first, second)
        return list(self._tokenizer.encode(*texts).ids)

    def segment_ids(self, premise: str, hypothesis: str) -> list[int]:
        """Segment ids of a pair, by the layout."""
        first, second = map(len, self._halves(premise, hypothesis))
        layout = self.layout
        return [0] * (len(layout.prefix) + first + len(layout.separator)) + [1] * (second + len(layout.suffix))

    def _ordered(self, premise: str, hypothesis: str) -> tuple[str, str]:
        return (hypothesis, premise) if self._hypothesis_first else (premise, hypothesis)

    def _halves(self, premise: str, hypothesis: str) -> tuple[list[int], list[int]]:
        """Ids of the first and the second text of a pair, without special tokens."""
        first, second = self._ordered(premise, hypothesis)
        return self._ids(first), self._ids(f" {second}" if self._one_text else second)

    @property
    def _examples(self) -> tuple[str, ...]:
        """In one text, blanks at the ends of its halves would run together; no protocol has them there."""
        return (
            tuple(example for example in _EXAMPLES if example == example.strip() != "") if self._one_text else _EXAMPLES
        )

    def check_pair_encoding(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Check that joining the two texts' ids in the layout is the tokenizer's own pair encoding.

        Raises:
            CheckpointError: for one of the pairs it is not.
        """
        layout = self.layout
        for premise, hypothesis in pairs:
            first, second = self._halves(premise, hypothesis)
            joined = [*layout.prefix, *first, *layout.separator, *second, *layout.suffix]
            encoded = self.encode(premise, hypothesis)
            if joined != encoded:
                raise CheckpointError(
                    f"{self._where}: the pair ({premise!r}, {hypothesis!r}) is {encoded}, but joined from its texts "
                    f"{joined}; a tokenizer whose pairs cannot be joined from parts is not supported"
                )

    def check_ids(self, vocab_size: int, pad_token_id: object) -> None:
        """Check that every id has an embedding, and that the model pads with the tokenizer's padding.

        Raises:
            CheckpointError: tokenizer and config.json disagree.
        """
        largest = max(self._tokenizer.get_vocab(with_added_tokens=True).values())
        if largest >= vocab_size:
            raise CheckpointError(
                f"{self._where} has the id {largest}, but config.json says vocab_size {vocab_size}; "
                "the tokenizer belongs to another checkpoint"
            )
        if pad_token_id is not None and self.layout.pad_id != pad_token_id:
            raise CheckpointError(
                f"{self._where} pads with id {self.layout.pad_id}, but config.json says pad_token_id {pad_token_id}; "
                "the tokenizer belongs to another checkpoint"
            )

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _derive_one_text(self, pad_id: int) -> PairLayout:
        """The layout of one text, from the special ids around it."""
        encoding = self._tokenizer.encode("first second")
        special = [sequence is None for sequence in encoding.sequence_ids]
        begin, end = special.index(False), len(special) - special[::-1].index(False)
        prefix, suffix = tuple(encoding.ids[:begin]), tuple(encoding.ids[end:])
        if not prefix:
            raise CheckpointError(
                f"{self._where}: the text 'first second' is {encoding.tokens}, without a special token before it, "
                "which a classifier reads; take the tokenizer of this very checkpoint"
            )
        return PairLayout(prefix, (), suffix, pad_id, False, self._hypothesis_first, one_string=True)

    def _derive(self, pad_id: int) -> PairLayout:
        """Read the special ids off one encoded pair; :meth:`check_pair_encoding` then checks them on many."""
        encoding = self._tokenizer.encode("first", "second")
        parts: list[list[int]] = [[]]
        last: int | None = None
        for token, sequence in zip(encoding.ids, encoding.sequence_ids, strict=True):
            if sequence is None:
                parts[-1].append(token)
            elif sequence != last:
                parts.append([])
                last = sequence
        if len(parts) != 3:
            raise CheckpointError(f"{self._where}: the pair ('first', 'second') is {encoding.tokens}, not two parts")
        prefix, separator, suffix = map(tuple, parts)
        if not prefix or not separator:
            raise CheckpointError(
                f"{self._where}: the pair ('first', 'second') is {encoding.tokens}, without special tokens before or "
                "between the texts, which a classifier of pairs needs; take the tokenizer of this very checkpoint"
            )
        segment_ids = encoding.type_ids
        begin = len(prefix) + encoding.sequence_ids.count(0) + len(separator)
        if self._segments and segment_ids != [0] * begin + [1] * (len(segment_ids) - begin):
            raise CheckpointError(
                f"{self._where}: the segment ids of the pair ('first', 'second') are {segment_ids}, expected 0 to the "
                "end of the separator and 1 from there; take the tokenizer of this very checkpoint"
            )
        return PairLayout(prefix, separator, suffix, pad_id, self._segments, self._hypothesis_first)


def read_tokenizer(
    source: Source,
    family: Family,
    model_config: Mapping[str, Any],
    hypothesis_first: bool = False,
    one_text: bool = False,
) -> tuple[PairTokenizer, object]:
    """The tokenizer of a checkpoint, and its ``model_max_length`` as it stands (or ``None``).

    ``tokenizer.json`` is stored as it is; ``vocab.json`` with ``merges.txt``, and ``vocab.txt``, are converted by
    transformers. Either way the result is compared with the tokenizer that transformers itself makes of the folder,
    which also heeds ``tokenizer_config.json``.

    Raises:
        CheckpointError: no fast tokenizer, a damaged one, or files of one that disagree.
    """
    names = {path.name for path in source.tokenizer}
    where = str(
        source.folder / (next((name for name in ("tokenizer.json", "vocab.json") if name in names), "vocab.txt"))
    )
    is_convertible = BPE in family.tokenizers and {"vocab.json", "merges.txt"} <= names
    is_convertible = is_convertible or (WORDPIECE in family.tokenizers and "vocab.txt" in names)
    if "tokenizer.json" not in names and not is_convertible:
        raise CheckpointError(
            f"{source.folder} has no tokenizer.json (nor vocab.json with merges.txt, or vocab.txt); save the "
            "tokenizer next to the weights: AutoTokenizer.from_pretrained(...).save_pretrained(FOLDER)"
        )
    config = read_json(source.folder / "tokenizer_config.json") if "tokenizer_config.json" in names else {}
    reference = _by_transformers(source, config, where)
    backend = reference.backend_tokenizer
    if "tokenizer.json" in names:
        try:
            text = (source.folder / "tokenizer.json").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise CheckpointError(f"{where} cannot be read ({e}); download the checkpoint again") from e
    else:
        text = backend.to_str()
    tokenizer = PairTokenizer(
        text,
        str(reference.pad_token),
        where,
        family.tokenizers,
        family.segments(model_config),
        hypothesis_first,
        one_text,
    )
    backend.no_truncation()
    backend.no_padding()
    for example in _EXAMPLES:
        ids = tokenizer.encode(example, "A")
        pair = ("A", example) if hypothesis_first else (example, "A")
        expected_ids = list(backend.encode(*((" ".join(pair),) if one_text else pair)).ids)
        if ids != expected_ids:
            raise CheckpointError(
                f"{where} encodes ({example!r}, 'A') as {ids}, but with tokenizer_config.json it is {expected_ids}; "
                "make the files agree: AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
            )
    return tokenizer, config.get("model_max_length")


def _by_transformers(source: Source, config: Mapping[str, Any], where: str) -> Any:
    """The tokenizer that transformers makes of the folder. ``config``: the content of tokenizer_config.json."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    backend_only = config.get("tokenizer_class") == transformers5.TOKENIZER
    options: dict[str, Any] = {}
    if isinstance(config.get("extra_special_tokens"), list):  # transformers 4 has them under another key
        options = {"extra_special_tokens": {}, "additional_special_tokens": config["extra_special_tokens"]}
    try:
        tokenizer = (PreTrainedTokenizerFast if backend_only else AutoTokenizer).from_pretrained(
            str(source.folder), local_files_only=True, trust_remote_code=False, **options
        )
        tokenizer.backend_tokenizer  # noqa: B018 - slow tokenizers have none
        return tokenizer
    except Exception as e:  # of every kind: JSON errors, KeyErrors, plain Exceptions of the Rust library
        raise CheckpointError(
            f"{where} does not load as a tokenizer of transformers ({first_line(e)}); download it again, or save it "
            "with transformers 4: AutoTokenizer.from_pretrained(...).save_pretrained(FOLDER)"
        ) from e
