"""MiniCheck's RoBERTa as a folder for `scorer export`, with the separator it was trained with and safe weights.

Its weights are a pickle, which runs code when it is loaded: run this only if you trust their source.
"""

from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForSequenceClassification, AutoTokenizer

name = "lytang/MiniCheck-RoBERTa-Large"
tokenizer = AutoTokenizer.from_pretrained(name)
ends = [(token, tokenizer.convert_tokens_to_ids(token)) for token in ("<s>", "</s>")]
tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
    single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=ends
)
tokenizer.save_pretrained("minicheck")
AutoModelForSequenceClassification.from_pretrained(name).save_pretrained("minicheck")
