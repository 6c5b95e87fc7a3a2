"""The cut vocabulary still writes every word that the whole one could."""

from __future__ import annotations

from training.general.vocabulary import SPECIAL, UNK, cut, make_tokenizer

LETTERS = "adeilmnorstv"
PIECES = ["[unused0]", *SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS), "river", "##side", "oslo", "lamp"]


def test_a_cut_word_is_written_with_shorter_pieces() -> None:
    pieces = cut({piece: i for i, piece in enumerate([*PIECES, "rare"])}, ["oslo"], 31)
    tokenizer = make_tokenizer({piece: i for i, piece in enumerate(pieces)})
    encoded = tokenizer.encode("Oslo", "riverside")
    assert encoded.tokens == ["[CLS]", "oslo", "[SEP]", "r", *(f"##{letter}" for letter in "iverside"), "[SEP]"]
    assert encoded.type_ids == [0, 0, 0] + [1] * 10
    assert UNK not in encoded.ids
    assert UNK in tokenizer.encode("ω").ids
