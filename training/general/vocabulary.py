"""The word pieces of the general model: BERT's uncased ones, cut to 16,000 before the first run and kept since."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(5)
LONGEST = 512


def pieces_of(tokenizer: Tokenizer) -> list[str]:
    """The word pieces in the order of their ids."""
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """tokenizer.json and the small file that transformers expects with it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": LONGEST,
              "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
              "mask_token": "[MASK]"}  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
