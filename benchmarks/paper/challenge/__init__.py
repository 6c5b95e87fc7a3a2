"""Generator of the challenge set, ``scorer/embedded/challenge.*``, and public sentence pairs next to it.

All generated texts are written for this project; every name in them is invented.
"""
