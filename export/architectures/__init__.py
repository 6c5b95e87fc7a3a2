"""Families of checkpoints that can be exported, one file each.

``family``    what the export must know of a family
``encoder``   what the encoders share whose blocks ONNX Runtime fuses whole
``roberta``   RoBERTa, XLM-RoBERTa, CamemBERT
``bert``      BERT, MiniLM
``electra``   ELECTRA
``deberta``   DeBERTa-v2 and v3
``modernbert``
``mpnet``
``bart``

Another family is a file here and a line in :data:`FAMILIES`.
"""

from __future__ import annotations

from typing import Any

from scorer.errors import CheckpointError

from .bart import BART
from .bert import BERT
from .deberta import DEBERTA
from .electra import ELECTRA
from .family import Config, Family
from .modernbert import MODERNBERT
from .mpnet import MPNET
from .roberta import CAMEMBERT, ROBERTA, XLM_ROBERTA

__all__ = ["FAMILIES", "Family", "find_family"]

FAMILIES = (ROBERTA, XLM_ROBERTA, CAMEMBERT, BERT, ELECTRA, DEBERTA, MODERNBERT, MPNET, BART)


def find_family(config: Config, where: str) -> Family:
    """The family of a checkpoint.

    Raises:
        CheckpointError: it is none that can be exported, or the checkpoint is not a classifier of pairs.
    """
    classes, model_type = config.get("architectures"), config.get("model_type")
    for family in FAMILIES:
        if model_type == family.model_type and classes == [family.architecture]:
            return family
    raise CheckpointError(f"{where}: architectures is {classes!r} and model_type {model_type!r}; {_reason(classes)}")


def _reason(classes: Any) -> str:
    """Why a class is refused."""
    name = str(classes[0]) if isinstance(classes, list) and len(classes) == 1 else ""
    known = ", ".join(family.architecture for family in FAMILIES)
    if name.endswith("ForTokenClassification"):
        return "a classifier of tokens gives no answer about a pair: choose a classifier of sequences trained on NLI"
    if any(name == family.architecture.replace("ForSequenceClassification", "Model") for family in FAMILIES):
        return "this is an encoder without a head, which answers nothing: choose a classifier trained on NLI"
    return f"export supports {known} and nothing else: choose such a checkpoint, for instance roberta-large-mnli"
