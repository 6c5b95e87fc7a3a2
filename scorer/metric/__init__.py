"""The metric of Dušek & Kasner (INLG 2020), free of I/O and of models: what is asked, and what the answers mean.

``triples``   rows of any spelling to distinct triples
``templates`` triples to facts
``checks``    facts and text to (premise, hypothesis) pairs
``verdict``   probabilities to labels
``columns``   labels to Arrow columns
``keys``      the key by which tomorrow's run finds a row again
"""

REVISION = 2
"""Rises only when a label can change for the same model, templates and options; part of the signature."""
