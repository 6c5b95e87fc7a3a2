"""The model's own byte-level BPE in RoBERTa's layout, lower-cased, with a blank put before every text.

Lower case and the blank make a name the same tokens wherever it stands: systems write `the vaults`, and a
small model should spend nothing on learning that this is `The Vaults`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from export.training.e2e.corpus import Source
from export.training.e2e.data import Mix, pairs

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


def build_tokenizer(source: Source, vocabulary: int, seed: int) -> Tokenizer:
    """A tokenizer trained on texts and facts of the recipe; `<mask>` takes the last id."""
    rng = random.Random(seed)

    def lines() -> Iterator[str]:
        for pair in pairs(source, Mix(facts_first=0.6, natural=0.3), 40_000, rng):
            yield pair.text
            yield " ".join(pair.facts)

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase(), normalizers.Prepend(" ")])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - 1,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines(), trainer)
    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json and the two small files that transformers also reads."""
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {
        "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>",
        "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>",
    }  # fmt: skip
    config = {
        "tokenizer_class": "RobertaTokenizerFast",
        "add_prefix_space": False,
        "model_max_length": 512,
        **named,
    }
    (folder / "special_tokens_map.json").write_text(json.dumps(named, indent=2) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
