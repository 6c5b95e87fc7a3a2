"""Baselines from the literature, each writing a run's output columns.

``e2e_slots``  a pattern matcher for the eight slots of the E2E data: missing, added, value errors, repetitions
``keywords``   whether each value, or a synonym, is in the text; sees no hallucination
``entities``   the share of subjects and objects that are in the text; sees no hallucination either
``overlap``    BLEU, chrF, TER, NIST, ROUGE-L, CIDEr and METEOR against references
``bertscore``  embeddings of the text's tokens against those of references
"""
