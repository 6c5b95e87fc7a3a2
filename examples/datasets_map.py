"""Score a Hugging Face dataset batch by batch: `python examples/datasets_map.py`, with `datasets` installed."""

import datasets

from scorer import Scorer

rows = datasets.Dataset.from_dict(
    {
        "facts": [["Blue Spice is a pub.", "Blue Spice is by the riverside."]] * 2,
        "text": ["Blue Spice is a pub by the riverside.", "Blue Spice is a pub."],
    }
)

with Scorer.embedded() as scorer:

    def score(batch: dict[str, list]) -> dict[str, list]:
        scored = scorer.score_table(batch)
        return {"fine": scored["fine"], "confidence": scored["confidence"]}

    labelled = rows.map(score, batched=True, batch_size=1024, load_from_cache_file=False)
print(list(labelled["fine"]))
