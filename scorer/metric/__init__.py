"""The metric of Dušek & Kasner (INLG 2020), without I/O and models: which checks are asked, and what the results mean.

``options``    the choices of a user
``facts``      the facts of a window, interned; the rows
``values``     single values as text, in one spelling; columns of Arrow as objects of Python; ``group_values``: groups
``formats``    triples, sentences and documents, parsed; ``attributes``, ``python_forms``: other forms of triples
``inputs``     which column holds which input; why a row is invalid
``templates``  triples to facts
``checks``     facts and text to (premise, hypothesis) pairs; ``factspotter``: those of another metric
``sentences``  the sentences of a text, and the facts that fit; ``selection``: which facts these are
``verdict``    probabilities to labels
``columns``    labels to Arrow columns
``row_key``    the key by which a later run finds a row again
"""

REVISION = 3
"""Part of the signature; increased only if a label can change for the same model, templates and options."""
