"""Templates made from references, chosen among, and checked.

``tokens``     words, numbers and dates of a string, as keys that agree however they are spelled
``matching``   where an entity stands in a sentence, and the sentence with both entities cut out
``references`` rows of one triple with the sentences that say it, from Parquet
``extract``    references to candidates, with counts, and what they cover
``choosing``   one candidate per predicate: the first, a random one, the most frequent
``agreement``  ... or the one that the model finds to say the same as other references
``check``      what a template file misses in the data, and which of its templates fail too often
"""
