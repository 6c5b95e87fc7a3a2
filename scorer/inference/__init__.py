"""Pairs of texts in, probabilities out. Nothing here knows of triples or of Parquet.

``bundle``   a model's folder, checked before anything in it is used
``texts``    each distinct text to token ids, once
``batches``  pairs to padded batches on a small grid of shapes
``sessions`` a runtime session on the device that was asked for, or an error
``verify``   what a variant does on this device, measured on the bundle's probes
``engine``   all of it together: the one object the pipeline talks to
"""
