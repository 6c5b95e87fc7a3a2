"""Score a pandas data frame, show the rows that are not OK: `python examples/dataframe.py`, with pandas installed."""

import pandas as pd

from scorer import Scorer

rows = pd.DataFrame(
    {
        "triples": [["Blue Spice | eatType | pub", "Blue Spice | area | riverside"]] * 3,
        "text": [
            "Blue Spice is a pub by the riverside.",
            "Blue Spice is a pub.",
            "Blue Spice is a cheap pub by the riverside.",
        ],
    }
)

with Scorer.embedded() as scorer:
    scored = scorer.score_table(rows)
print(scored.loc[scored["rough"] == "not_OK", ["text", "fine", "confidence"]].to_string(index=False))
