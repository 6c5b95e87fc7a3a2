"""The metric of Dušek & Kasner (INLG 2020), without I/O and models: which checks are asked, and what the results mean.

``triples``   rows in any of the three formats to distinct triples
``templates`` triples to facts
``checks``    facts and text to (premise, hypothesis) pairs
``verdict``   probabilities to labels
``columns``   labels to Arrow columns
``keys``      the key by which a later run finds a row again
"""

REVISION = 2
"""Part of the signature; increased only if a label can change for the same model, templates and options."""
