"""Pairs of texts in, probabilities out. Nothing here knows of triples or of Parquet.

``choices``    which model runs and how; imports nothing heavy
``bundle``     a model's folder, checked before anything in it is used
``scheme``     logits → probabilities; which pairs are too close to call
``tokenizer``  texts → token ids, each word once
``batching``   pairs → padded or packed batches
``device``     the table of device kinds, what a GPU's driver says
``session``    an ONNX Runtime session on the device that was asked for, or an error; calls that can be cancelled
``variants``   which variants of a bundle may run on a device
``verification``  what a variant does on a device, measured once (``verification_worker``: in a process of its own)
``engine``     all of it together: the one object the pipeline talks to
"""
