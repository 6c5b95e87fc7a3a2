"""Metrics of other papers, each as a column of a Parquet file that ``scorer evaluate --metric COLUMN`` reads.

``e2e_slots``  a pattern matcher for the eight slots of the E2E data: missing, added, value errors, repetitions
``entities``   the share of subjects and objects that are in the text; sees no hallucination
``labels``     these two, and keywords, as labels of rows
``overlap``    BLEU, chrF, TER (sacrebleu), METEOR (nltk), ROUGE-L (rouge-score), NIST, CIDEr, BERTScore (bert-score)

The packages are in ``requirements.txt``.
"""
