"""Rows of facts and text, and a tokenizer, made up for these tests."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForSequenceClassification

from scorer.metric.facts import Triple
from training.general.nli import SPECIAL
from training.general.rows import Corpus, Row, corpus
from training.network import NLI_LABELS, WITHOUT_DROPOUT, label_names

COLOURS = ("red", "green", "blue", "white", "black", "yellow")
TOWNS = ("Oslo", "Bergen", "Turku", "Aarhus", "Lund", "Narvik")
PEOPLE = ("Ada Lind", "Bo Ek", "Eva Moe", "Ida Dahl", "Per Holm", "Kari Lie", "Tor Vik", "Siv Berg", "Jon Aas")
MILLS = {
    "founder": "{s} was founded by {o}.", "heir": "{s} was left to {o}.", "judge": "{s} took {o} to court.",
    "guard": "{s} is watched by {o}.", "tenant": "{s} has {o} for a tenant.",
}  # fmt: skip


def lamp(n: int, rng: random.Random) -> Row:
    """A lamp with a colour, a weight, a length, and a socket or none."""
    name, colour, weight, plug = f"lamp {n:03}x", rng.choice(COLOURS), f"{rng.randint(2, 90)} kg", rng.random() < 0.5
    length = f"{rng.randint(2, 90)} cm"
    facts = (
        Triple(name, "color", colour),
        Triple(name, "weight", weight),
        Triple(name, "length", length),
        Triple(name, "hasusbport", "true" if plug else "false"),
    )
    text = f"{name} is {colour}, weighs {weight}, is {length} long and {'has' if plug else 'lacks'} a socket."
    return Row(facts, text, "rnnlg", "lamp")


def town(n: int, rng: random.Random) -> Row:
    """One fact about a town, in one of two wordings."""
    name, number = f"{rng.choice(TOWNS)}-{n}", str(rng.randint(100, 9999))
    text = rng.choice((f"{name} has {number} inhabitants.", f"The population of {name} is {number}."))
    return Row((Triple(name, "population", number),), text, "rel2text", "towns")


def mill(n: int, rng: random.Random) -> Row:
    """One fact about a mill, in the wording of its relation."""
    relation, name = rng.choice(list(MILLS)), rng.choice(PEOPLE)
    text = MILLS[relation].format(s=f"Mill-{n}", o=name)
    return Row((Triple(f"Mill-{n}", relation, name),), text, "rel2text", "mills")


def made(lamps: int = 150, towns: int = 150, mills: int = 0) -> Corpus:
    """A corpus of them."""
    rng = random.Random(0)
    counts = ((lamp, lamps), (town, towns), (mill, mills))
    return corpus([make(n, rng) for make, count in counts for n in range(count)])


def guessed(texts: list[tuple[str, bool]]) -> float:
    """How often naive Bayes on words and pairs of neighbouring words is right, learned on the first three quarters."""

    def words(text: str) -> set[str]:
        found = re.findall(r"\w+", text.lower())
        return {*found, *(f"{a} {b}" for a, b in pairwise(found))}

    cut = len(texts) * 3 // 4
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for text, true in texts[:cut]:
        counts[true].update(words(text))
    hits = 0
    for text, true in texts[cut:]:
        score = math.fsum(math.log((counts[True][w] + 1) / (counts[False][w] + 1)) for w in words(text))
        hits += (score > 0) == true
    return hits / (len(texts) - cut)


def make_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """An uncased BERT tokenizer over these pieces, without truncation or padding."""
    ids = {piece: i for i, piece in enumerate((*SPECIAL, *pieces))}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def tiny(vocabulary: int, layers: int = 1, positions: int = 32) -> BertForSequenceClassification:
    """A random network of the general model's kind."""
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=64, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=96,
        max_position_embeddings=positions, **WITHOUT_DROPOUT, **label_names(NLI_LABELS),
    )  # fmt: skip
    return BertForSequenceClassification(config).eval()


def check_untold(pairs: Sequence[tuple[str, str, bool]]) -> None:
    """Neither side of pairs tells on its own whether they are true."""
    for side in (0, 1):
        assert guessed([(pair[side], pair[2]) for pair in pairs]) < 0.58
