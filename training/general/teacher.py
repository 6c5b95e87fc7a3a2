"""The teacher: MPNet (Song et al., NeurIPS 2020) over the student's word pieces.

Its pieces are BERT's, so that the rows of its word table can stand in the student's order, and both read the same ids.

    python -m training.general.teacher --base MPNET --like CHECKPOINT --out START
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from training.general.nli import PAD, SPECIAL, pieces_of, save_tokenizer
from training.network import NLI_LABELS, label_names, load, save

SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
"""Of model.safetensors of sentence-transformers/all-mpnet-base-v2 (Apache-2.0; 109 million parameters)."""
_SPECIAL = dict(zip(SPECIAL, ("<pad>", "[UNK]", "<s>", "</s>", "<mask>"), strict=True))


def from_mpnet(base: Path, vocabulary: dict[str, int], pieces: list[str], seed: int = 0) -> PreTrainedModel:
    """MPNet with an untrained output layer on its pooler, the rows of its word table in the order of ``pieces``."""
    torch.manual_seed(seed)
    network = load(base, attention_probs_dropout_prob=0.0, **label_names(NLI_LABELS))
    words = network.get_input_embeddings().weight[[vocabulary[_SPECIAL.get(piece, piece)] for piece in pieces]]
    network.resize_token_embeddings(len(pieces))
    tensors = {name.removeprefix("mpnet."): tensor for name, tensor in load_file(base / "model.safetensors").items()}
    with torch.no_grad():
        network.get_input_embeddings().weight.copy_(words)
        for name, value in network.classifier.dense.named_parameters():
            value.copy_(tensors[f"pooler.dense.{name}"])
    network.config.pad_token_id = PAD
    return network


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.teacher", description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--like", type=Path, required=True, help="checkpoint or bundle of the student: its tokenizer")
    parser.add_argument("--out", type=Path, required=True, help="checkpoint to train on from")
    options = parser.parse_args()
    weights = options.base / "model.safetensors"
    if (found := hashlib.sha256(weights.read_bytes()).hexdigest()) != SHA256:
        sys.exit(f"{weights}: sha256 is {found}, not {SHA256}; this is another file than the recipe's teacher")
    vocabulary = json.loads((options.base / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    tokenizer = Tokenizer.from_file(str(options.like / "tokenizer.json"))
    save(from_mpnet(options.base, vocabulary, pieces_of(tokenizer)), options.out)
    save_tokenizer(tokenizer, options.out)


if __name__ == "__main__":
    main()
