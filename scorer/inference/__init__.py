"""Pairs of texts in, probabilities out. Nothing here knows of triples or of Parquet.

``bundle``   a model's folder, checked before anything in it is used
``texts``    each distinct text to token ids, once
``batches``  pairs to padded batches on a small grid of shapes
``sessions`` a runtime session on the device that was asked for, or an error
``first_use`` a variant that was never seen on a device, tried in a child process (``smoke_test``)
``model_session`` calls of the model that can be given up, and whose output is checked
``verify``   what a variant does on this device, measured on the bundle's probes (``facts``, kept in the ``cache``)
``engine``   all of it together: the one object the pipeline talks to
"""
