"""Keys of config.json that cannot change the logits of a classifier in inference.

A key that neither a family reads nor this module names is refused: it may be how a newer library says that the network
is another one.
"""

from __future__ import annotations

_RECORDS = (
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_name_or_path", "_num_labels",
    "architectures", "attn_implementation", "dtype", "finetuning_task", "id2label", "label2id", "language", "license",
    "model_max_length", "model_type", "name_or_path", "num_labels", "problem_type", "sentence_transformers",
    "task_specific_params", "tf_legacy_loss", "tokenizer_class", "torch_dtype", "torchscript", "transformers.js_config",
    "transformers_version", "use_bfloat16",
)  # fmt: skip
"""Keys for the name of a checkpoint, how it was made and stored, and its labels (:mod:`export.labels` reads them)."""
_TRAINING = (
    "attention_dropout", "attention_probs_dropout_prob", "classifier_dropout", "dropout", "gradient_checkpointing",
    "hidden_dropout_prob", "init_std", "initializer_factor", "initializer_range",
)  # fmt: skip
_RUNNING = (
    "chunk_size_feed_forward", "cross_attention_hidden_size", "keys_to_ignore_at_inference", "output_attentions",
    "output_hidden_states", "output_past", "return_dict", "use_cache",
)  # fmt: skip
"""Keys for the computation of a forward pass and its further results. Every family refuses cross attention itself."""
_GENERATION = (
    "bad_words_ids", "begin_suppress_tokens", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
    "length_penalty", "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_scores", "prefix", "remove_invalid_values", "repetition_penalty",
    "return_dict_in_generate", "suppress_tokens", "temperature", "top_k", "top_p", "typical_p",
)  # fmt: skip
_TOKENS = (
    "bos_token_id", "cls_token_id", "decoder_start_token_id", "eos_token_id", "mask_token_id", "sep_token_id",
    "unk_token_id",
)  # fmt: skip
"""Ids that the tokenizer writes; a family that computes with one reads it."""
EVERYWHERE = frozenset((*_RECORDS, *_TRAINING, *_RUNNING, *_GENERATION, *_TOKENS))
"""Keys of every family."""

ENCODER = frozenset(("is_encoder_decoder", "tie_encoder_decoder", "tie_word_embeddings"))
"""Keys of families without a decoder: a classifier has no output embeddings to tie."""
BERT = ENCODER | {
    "directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head",
    "pooler_type",
}  # fmt: skip
"""The last six come with BERT's multilingual models, whose classes never read them."""
ELECTRA = ENCODER | {
    "summary_activation", "summary_first_dropout", "summary_last_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj",
}  # fmt: skip
"""The summary is the multiple-choice head's; the classifier has a head of its own."""
DEBERTA = ELECTRA | {"cls_dropout", "conv_act", "conv_groups", "legacy", "pooler_dropout", "z_steps"}
"""``conv_*``: of the convolution that is refused. ``legacy``, ``z_steps``: of the head for pre-training."""
MODERNBERT = ENCODER | {
    "decoder_bias", "deterministic_flash_attn", "embedding_dropout", "initializer_cutoff_factor", "layer_norm_eps",
    "mlp_dropout", "position_embedding_type", "reference_compile", "repad_logits_with_grad", "sparse_pred_ignore_index",
    "sparse_prediction",
}  # fmt: skip
"""``layer_norm_eps``, ``position_embedding_type``: left over from BERT; its classes read neither."""
BART = frozenset((
    "_num_labels", "activation_dropout", "add_bias_logits", "classif_dropout", "decoder_layerdrop",
    "encoder_layerdrop", "force_bos_token_to_be_generated", "num_hidden_layers",
))  # fmt: skip
"""``num_hidden_layers`` repeats ``encoder_layers``, which is read."""
