"""Extract templates from references, choose one for each predicate, and check template files.

``tokens``     words, numbers and dates of a string, as keys that are equal for different spellings
``matching``   find an entity in a sentence, and replace both entities of a triple by slots
``references`` rows of one triple with sentences that express it, from Parquet
``extract``    from references to candidates, with counts and coverage
``choosing``   one candidate per predicate
``agreement``  ... the one that agrees best with other references according to the model
``making``     all of these: ``scorer templates extract``
``check``      what a template file misses in the data: ``scorer templates check``
``document``   the types of both reports
"""
