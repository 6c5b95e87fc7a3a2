"""Generator of the challenge set, and public sentence pairs next to it.

``values``    what facts hold: numbers, quantities, dates, names, words; how each is changed by a little
``words``     invented names, and the words that values are made of
``domains``   eight domains: attributes, their templates, their wordings
``realise``   facts → text
``case``      a pair of the set, and what makes the pairs of a kind
``edits``     the kinds of change that apply to any record
``pairs``     the kinds that need records of their own: two entities, an order, a sum
``build``     the files of the package, ``scorer/embedded/challenge.*``, from a seed
``sentence_pairs``  pairs recast from public sets; ``natural``: a bundle's answers to those of the test parts

All generated texts are written for this project; every name in them is invented.
"""
