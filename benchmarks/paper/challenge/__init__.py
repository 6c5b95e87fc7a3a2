"""Generator of the challenge set, ``scorer/embedded/challenge.*``, and public sentence pairs next to it.

``texts``           invented facts and texts that say them
``kinds``           the changes: a right text, and the same with one thing changed
``build``           the files of the package, from a seed
``sentence_pairs``  pairs recast from public sets; ``natural``: a bundle's answers to those of the test parts

All generated texts are written for this project; every name in them is invented.
"""
