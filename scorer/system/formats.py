"""The keys and schema numbers of all files that this program writes and reads again.

A number is increased if a key is removed or changes its meaning.
"""

from __future__ import annotations

SIGNATURE_KEY = "d2t_scorer.signature"
"""In a Parquet footer: the line of the signature."""
SIGNATURE_PARTS_KEY = "d2t_scorer.signature_parts"
"""In a Parquet footer: the parts of the signature with whole digests, as canonical JSON."""

PLAN_SCHEMA = 2
"""Of ``_plan.json``."""
RUN_SCHEMA = 1
"""Of ``_run.json``."""
RECEIPT_SCHEMA = 4
"""Of ``_receipts/*.json``."""
FAILED_SCHEMA = 1
"""Of ``_failed/*.json``."""
BUNDLE_SCHEMA = 3
"""Of ``bundle.json``."""
AUDIT_SCHEMA = 1
"""Of the document of ``scorer audit --json``."""
HISTORY_SCHEMA = 1
"""Of the history of ``scorer audit --history``, in the Parquet footer."""
EVALUATION_SCHEMA = 1
"""Of ``scorer evaluate --json``, with ``--spans`` too."""
TEMPLATES_SCHEMA = 1
"""Of ``scorer templates extract --json`` and ``scorer templates check --json``."""
RATES_SCHEMA = 2
"""Of ``scorer rate --json``."""
