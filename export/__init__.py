"""Checkpoint → verified bundle. The only code that knows torch, transformers and optimum.

``source``         hub id or folder → local files that are safe to read
``families``       knowledge about the families of checkpoints that optimum lacks
``checkpoint``     those files → sizes, labels, tokenizer, PyTorch model, or the reason for refusing
``graph``          PyTorch → ONNX → the fused fp32 graph, counted against the config
``variants``       fp32, fp16 and int8 from the fused graph; their weights stored once
``probes``         the pairs on which every variant is compared
``parity``         each variant against PyTorch
``bundle_writer``  all of it in order

Importing this package imports none of the heavy libraries.
"""

from .bundle_writer import export_bundle
from .labels import FACTSPOTTER, Task

__all__ = ["FACTSPOTTER", "Task", "export_bundle"]
