"""Families of checkpoints that can be exported.

optimum knows how each family is traced. This module adds the values of a config that determine the model (they are
checked and given to transformers' own class), the kinds of tokenizers, how positions are counted, and the operators
that the fused graph must have. Values under which the exported graph would be another one are refused with the reason,
and so are unknown keys. Another family is an entry of :data:`FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from scorer.errors import CheckpointError

from . import config_keys, transformers5

ENCODER, WHOLE = "encoder", "whole"
"""Forms of a graph:

- ``encoder``: attention is fused, and the last layer is computed for the first token alone
- ``whole``: normalisation and GELU are fused, everything else is as in transformers"""
BPE, WORDPIECE, UNIGRAM = "BPE", "WordPiece", "Unigram"
Config = Mapping[str, Any]


_NOT_PASSED = ("quantization_config", "pruned_heads")


@dataclass(frozen=True)
class Sizes:
    """Keys of a config for the sizes that all families have."""

    vocab: str = "vocab_size"
    hidden: str = "hidden_size"
    layers: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    intermediate: str = "intermediate_size"
    positions: str = "max_position_embeddings"


@dataclass(frozen=True)
class Family:
    """A family of checkpoints: the classes of one ``model_type``.

    Attributes:
        model_type, architecture, config_class: as in config.json and in transformers.
        form: :data:`ENCODER` or :data:`WHOLE`.
        tokenizers: kinds of tokenizers that its checkpoints have.
        fused: fused operators of the graph by the number of layers, before it becomes a variant.
        sizes: keys of the sizes.
        whole: further keys that hold whole numbers, with their default (``None``: the config must have the key).
        numbers: keys that hold a small positive number, with their default.
        only: keys with the values that the graph supports, the default first.
        absent: value of such a key if a config lacks it, where it is not that default.
        passed: keys passed to transformers as they are, after ``check``.
        fixed: further arguments of the class of the config.
        repeats: keys that repeat another one, and are refused if they differ from it.
        ignored: keys that change no logit, in addition to ``config_keys.EVERYWHERE``.
        spelling: the config as transformers 4 spells it.
        check: refuses other values that the graph does not support.
        unused: beginnings of names of tensors that the classifier does not read.
        first_position: positions of the table before the first token's.
        segments: whether the model reads segment ids.
    """

    model_type: str
    architecture: str
    config_class: str
    form: str
    tokenizers: tuple[str, ...]
    fused: Callable[[int], dict[str, int]]
    sizes: Sizes = Sizes()
    whole: Mapping[str, int | None] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    absent: Mapping[str, Any] = field(default_factory=dict)
    passed: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    repeats: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = config_keys.ENCODER
    spelling: Callable[[Config, str], Config] = lambda config, where: config
    check: Callable[[Config, str], None] = lambda model_config, where: None
    unused: tuple[str, ...] = ()
    first_position: Callable[[Config], int] = lambda model_config: 0
    segments: Callable[[Config], bool] = lambda model_config: False

    def read(self, config: Config, where: str) -> dict[str, Any]:
        """The values of a config that determine the model.

        Raises:
            CheckpointError: a value that the graph does not support, an invalid value, or an unknown key that may
                change the logits.
        """
        config = self.spelling(config, where)
        self._refuse_unknown_keys(config, where)
        model_config: dict[str, Any] = {}
        for key, values in self.only.items():
            value = config.get(key, self.absent.get(key, values[0]))
            is_supported = any(value == allowed and type(value) is type(allowed) for allowed in values)
            if not is_supported and (value is not None or values[0]):
                expected = " or ".join(map(repr, values))
                raise CheckpointError(f"{where}: {key} is {value!r}, but export supports only {expected} there")
            if is_supported and key not in _NOT_PASSED:
                model_config[key] = value
        sizes = self.sizes
        required = dict.fromkeys(asdict(sizes).values())
        for key, default in {**required, **self.whole}.items():
            value = config.get(key, default)
            least = 1 if key in required else 0
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise CheckpointError(f"{where}: {key} is {value!r}, expected a whole number")
            model_config[key] = value
        if model_config[sizes.hidden] % model_config[sizes.heads]:
            raise CheckpointError(
                f"{where}: {sizes.hidden} {model_config[sizes.hidden]} cannot be shared by "
                f"{model_config[sizes.heads]} heads"
            )
        for key, number in self.numbers.items():
            value = config.get(key, number)
            value = float(value) if type(value) is int else value
            if not isinstance(value, float) or not 0 < value < 1e9:
                raise CheckpointError(f"{where}: {key} is {value!r}, expected a positive number")
            if key.endswith("eps") and value >= 1:
                raise CheckpointError(f"{where}: {key} is {value!r}, expected a small positive number")
            model_config[key] = value
        for key, default in self.passed.items():
            model_config[key] = config.get(key, default)
        for key, repeated in self.repeats.items():
            if config.get(key) not in (None, model_config[repeated]):
                raise CheckpointError(
                    f"{where}: {key} is {config[key]!r}, expected {model_config[repeated]!r} as {repeated} says"
                )
        self.check(model_config, where)
        return {key: value for key, value in model_config.items() if value is not None}

    def _refuse_unknown_keys(self, config: Config, where: str) -> None:
        known_keys = {*asdict(self.sizes).values(), *self.whole, *self.numbers, *self.only, *self.passed, *self.repeats}
        unknown = config.keys() - known_keys - config_keys.EVERYWHERE - self.ignored
        for key in sorted(unknown):
            if config[key] is not None:
                raise CheckpointError(
                    f"{where}: export does not know the key {key!r} ({config[key]!r}) of {self.model_type}, which may "
                    "change what the model computes; if it does not, remove it from config.json"
                )

    def positions(self, model_config: Config) -> int:
        """Tokens of the longest pair that the table of positions has room for."""
        return int(model_config[self.sizes.positions]) - self.first_position(model_config)

    def describe(self, model_config: Config, parameters: int) -> dict[str, Any]:
        """The ``architecture`` of bundle.json."""
        sizes = self.sizes
        return {
            "model_type": self.model_type,
            "class": self.architecture,
            "layers": model_config[sizes.layers],
            "hidden_size": model_config[sizes.hidden],
            "heads": model_config[sizes.heads],
            "intermediate_size": model_config[sizes.intermediate],
            "vocab_size": model_config[sizes.vocab],
            "parameters": parameters,
        }

    def build(self, model_config: Config, labels: int, device: str = "cpu") -> Any:
        """The model in PyTorch with its weights not yet set: fp32, eager attention (the form that fuses), eval mode.

        ``labels``: logits of a pair.
        """
        import torch
        import transformers
        from transformers.modeling_utils import no_init_weights

        config = getattr(transformers, self.config_class)(**{**model_config, **self.fixed}, num_labels=labels)
        cls = getattr(transformers, self.architecture)
        with no_init_weights(), torch.device(device):
            model = cls._from_config(config, attn_implementation="eager", dtype=torch.float32)
        return model.eval()

    def parameters(self, model_config: Config, labels: int) -> int:
        """Parameters of the classifier, counted without memory for them."""
        return sum(value.numel() for value in self.build(model_config, labels, "meta").parameters())


def _encoder_counts(layers: int) -> dict[str, int]:
    """Fused operators of an encoder with this many layers."""
    return {"Attention": layers, "SkipLayerNormalization": 2 * layers, "LayerNormalization": 1, "BiasGelu": layers}


def _has_segments(model_config: Config) -> bool:
    """Models with more than one type of token were trained with the two texts of a pair told apart."""
    return int(model_config["type_vocab_size"]) > 1


PLAIN: Mapping[str, tuple[Any, ...]] = {
    "is_decoder": (False,), "add_cross_attention": (False,), "pruned_heads": ({},), "quantization_config": (None,),
}  # fmt: skip
"""Values for every family: no decoder of texts, no layers without some heads, no weights in another format."""
_ENCODER_ONLY: Mapping[str, tuple[Any, ...]] = {
    "hidden_act": ("gelu",), "position_embedding_type": ("absolute",), **PLAIN,
}  # fmt: skip
"""Values of the config under which the fused operators compute an encoder."""
_EPSILON = {"layer_norm_eps": 1e-12}


ROBERTA = Family(
    model_type="roberta",
    architecture="RobertaForSequenceClassification",
    config_class="RobertaConfig",
    form=ENCODER,
    tokenizers=(BPE,),
    fused=_encoder_counts,
    whole={"pad_token_id": 1, "type_vocab_size": None},
    numbers=_EPSILON,
    only=_ENCODER_ONLY,
    fixed={"bos_token_id": 0, "eos_token_id": 2},
    unused=("roberta.pooler.", "lm_head."),
    first_position=lambda model_config: int(model_config["pad_token_id"]) + 1,
)
"""Positions are counted from the padding id + 1, so that a table of 514 holds 512 tokens. There is one type of token.
The head reads the first token: dense, tanh, projection."""
XLM_ROBERTA = replace(
    ROBERTA,
    model_type="xlm-roberta",
    architecture="XLMRobertaForSequenceClassification",
    config_class="XLMRobertaConfig",
    tokenizers=(UNIGRAM,),
)
"""Its table of 250,002 embeddings is most of its size; the weights of its large model are more than the 2 GiB of one
ONNX file, and lie next to it."""
CAMEMBERT = replace(
    XLM_ROBERTA,
    model_type="camembert",
    architecture="CamembertForSequenceClassification",
    config_class="CamembertConfig",
)
BERT = Family(
    model_type="bert",
    architecture="BertForSequenceClassification",
    config_class="BertConfig",
    form=ENCODER,
    tokenizers=(WORDPIECE,),
    fused=_encoder_counts,
    whole={"pad_token_id": 0, "type_vocab_size": 2},
    numbers=_EPSILON,
    only=_ENCODER_ONLY,
    repeats={"embedding_size": "hidden_size"},
    ignored=config_keys.BERT,
    unused=("cls.",),
    segments=_has_segments,
)
"""BERT, and MiniLM, which is saved under its name. The two texts of a pair are told apart by segment ids. The head is
the pooler (dense, tanh, of the first token) and a projection: the same three operators as RoBERTa's."""
ELECTRA = Family(
    model_type="electra",
    architecture="ElectraForSequenceClassification",
    config_class="ElectraConfig",
    form=ENCODER,
    tokenizers=(WORDPIECE,),
    fused=lambda layers: _encoder_counts(layers) | {"Gelu": 1},
    whole={"pad_token_id": 0, "type_vocab_size": 2, "embedding_size": 128},
    numbers=_EPSILON,
    only=_ENCODER_ONLY,
    ignored=config_keys.ELECTRA,
    unused=("discriminator_predictions.",),
    segments=_has_segments,
)
"""BERT's encoder, whose embeddings may be narrower than its layers. The head reads the first token: dense, GELU
(without a bias to fuse it with), projection."""


def _check_deberta(model_config: Config, where: str) -> None:
    terms = model_config["pos_att_type"]
    if sorted(terms.split("|") if isinstance(terms, str) else terms or []) != ["c2p", "p2c"]:
        raise CheckpointError(f"{where}: pos_att_type is {terms!r}, but export supports only 'c2p' with 'p2c'")
    for key, least in (("position_buckets", 1), ("max_relative_positions", -1)):
        if type(model_config[key]) is not int or model_config[key] < least:
            raise CheckpointError(
                f"{where}: {key} is {model_config[key]!r}, expected a whole number of at least {least}"
            )
    if model_config["attention_head_size"] not in (
        None,
        model_config["hidden_size"] // model_config["num_attention_heads"],
    ):
        raise CheckpointError(
            f"{where}: attention_head_size is {model_config['attention_head_size']!r}, expected hidden_size by heads"
        )
    if model_config["pooler_hidden_size"] not in (None, model_config["hidden_size"]):
        raise CheckpointError(
            f"{where}: pooler_hidden_size is {model_config['pooler_hidden_size']!r}, expected hidden_size"
        )


DEBERTA = Family(
    model_type="deberta-v2",
    architecture="DebertaV2ForSequenceClassification",
    config_class="DebertaV2Config",
    form=WHOLE,
    tokenizers=(UNIGRAM,),
    # One normalisation is the embeddings', one that of the relative positions.
    fused=lambda layers: {"SkipLayerNormalization": 2 * layers, "LayerNormalization": 2, "BiasGelu": layers},
    whole={"pad_token_id": 0, "type_vocab_size": 0},
    numbers={"layer_norm_eps": 1e-7},
    only={
        "hidden_act": ("gelu",), "pooler_hidden_act": ("gelu",), "relative_attention": (True,),
        "norm_rel_ebd": ("layer_norm",), "share_att_key": (True,), "position_biased_input": (False,),
        "conv_kernel_size": (0,), **PLAIN,
    },
    absent={
        "relative_attention": False, "norm_rel_ebd": "none", "share_att_key": False, "position_biased_input": True,
    },
    passed={
        "pos_att_type": None, "position_buckets": -1, "max_relative_positions": -1, "pooler_hidden_size": None,
        "attention_head_size": None,
    },
    repeats={"embedding_size": "hidden_size"},
    ignored=config_keys.DEBERTA,
    check=_check_deberta,
    unused=("mask_predictions.", "lm_predictions.", "cls."),
    segments=_has_segments,
)  # fmt: skip
"""DeBERTa-v2 and v3. Attention is disentangled: content is compared with content, and both with relative positions in
logarithmic buckets, for which ONNX Runtime has no fused operator. The changes of v3's pre-training do not affect the
classifier. Refused: the convolution of v2-xlarge, and absolute positions."""
MODERNBERT = Family(
    model_type="modernbert",
    architecture="ModernBertForSequenceClassification",
    config_class="ModernBertConfig",
    form=WHOLE,
    tokenizers=(BPE,),
    # The first layer has no normalisation before its attention; the embeddings', the last and the head's are extra.
    fused=lambda layers: {"SkipLayerNormalization": 2 * layers, "LayerNormalization": 2, "Gelu": layers + 1},
    whole={"pad_token_id": 50283, "global_attn_every_n_layers": 3, "local_attention": 128},
    numbers={"norm_eps": 1e-5, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
    only={
        "hidden_activation": ("gelu",), "classifier_activation": ("gelu",), "classifier_pooling": ("cls", "mean"),
        "norm_bias": (False, True), "attention_bias": (False, True), "mlp_bias": (False, True),
        "classifier_bias": (False, True), **PLAIN,
    },
    fixed={"reference_compile": False},
    repeats={"rope_theta": "global_rope_theta"},
    ignored=config_keys.MODERNBERT,
    spelling=transformers5.modernbert,
    unused=("decoder.",),
)  # fmt: skip
"""Rotary positions, up to 8,192 tokens, GeGLU, and attention that is local in two of three layers: ONNX Runtime's fused
attention knows neither. The head reads the first token or the mean of all, as the config says."""
_MPNET_FIRST_POSITION = 2


def _check_mpnet(model_config: Config, where: str) -> None:
    if model_config["pad_token_id"] != _MPNET_FIRST_POSITION - 1:
        raise CheckpointError(
            f"{where}: pad_token_id is {model_config['pad_token_id']}, but positions of MPNet count from 1"
        )
    if model_config["relative_attention_num_buckets"] != 32:
        buckets = model_config["relative_attention_num_buckets"]
        raise CheckpointError(f"{where}: relative_attention_num_buckets is {buckets}, but transformers computes 32")


MPNET = Family(
    model_type="mpnet",
    architecture="MPNetForSequenceClassification",
    config_class="MPNetConfig",
    form=WHOLE,
    tokenizers=(WORDPIECE,),
    # One is that of the sum of the two embeddings.
    fused=lambda layers: {"SkipLayerNormalization": 2 * layers + 1, "BiasGelu": layers},
    whole={"pad_token_id": 1, "relative_attention_num_buckets": 32},
    numbers=_EPSILON,
    only={"hidden_act": ("gelu",), **PLAIN},
    check=_check_mpnet,
    unused=("mpnet.pooler.", "lm_head."),
    first_position=lambda model_config: _MPNET_FIRST_POSITION,
)
"""BERT's encoder with a bias for relative positions, which ONNX Runtime's fused attention does not know. Absolute
positions are counted as RoBERTa's, and transformers' class has the padding id 1 built in."""


def _check_bart(model_config: Config, where: str) -> None:
    if model_config["decoder_layers"] != model_config["encoder_layers"]:
        raise CheckpointError(
            f"{where}: decoder_layers is {model_config['decoder_layers']} and encoder_layers "
            f"{model_config['encoder_layers']}, but export supports only equal numbers"
        )
    if model_config["decoder_attention_heads"] < 1 or model_config["d_model"] % model_config["decoder_attention_heads"]:
        raise CheckpointError(
            f"{where}: decoder_attention_heads is {model_config['decoder_attention_heads']}, which cannot be"
        )


BART = Family(
    model_type="bart",
    architecture="BartForSequenceClassification",
    config_class="BartConfig",
    form=WHOLE,
    tokenizers=(BPE,),
    # Two residuals a layer of the encoder, three of the decoder, and the sums of the two embeddings.
    fused=lambda layers: {"SkipLayerNormalization": 5 * layers + 2, "BiasGelu": 2 * layers},
    sizes=Sizes("vocab_size", "d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim"),
    whole={
        "decoder_layers": None, "decoder_attention_heads": None, "decoder_ffn_dim": None, "pad_token_id": 1,
        "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
    },
    only={
        "activation_function": ("gelu",), "scale_embedding": (False, True), "is_encoder_decoder": (True,),
        "normalize_before": (False,), "add_final_layer_norm": (False,), "normalize_embedding": (True,),
        "static_position_embeddings": (False,), "extra_pos_embeddings": (2,), "tie_word_embeddings": (True,),
        "tie_encoder_decoder": (False,), **PLAIN,
    },
    repeats={"hidden_size": "d_model", "num_attention_heads": "encoder_attention_heads"},
    ignored=config_keys.BART,
    check=_check_bart,
    unused=("lm_head.", "final_logits_bias"),
)  # fmt: skip
"""Encoder and decoder both read the pair, so that a pair costs twice the layers, and the head reads the decoder at the
last end-of-sequence token. Text is data, so a literal ``</s>`` in it ends no sequence."""

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
    supported = ", ".join(family.architecture for family in FAMILIES)
    raise CheckpointError(
        f"{where}: architectures is {classes!r} and model_type {model_type!r}; export supports {supported} and nothing "
        "else (an encoder without a head answers nothing): choose such a checkpoint, for instance roberta-large-mnli"
    )
