"""What the host does for a call of the packed layout: put it together, against how long a GPU would compute it.

    python -m benchmarks.packing [--tokens 65536] [--rows 16384]

Rows as ``benchmarks.make_rows`` makes them, with the embedded bundle's tokenizer. Reported are the milliseconds of the
best of several assemblies of each full call, and, counted, the calls, their sizes and shapes, and the share of tokens
that are fillers, next to the share of padding of the padded layout on the same pairs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter

import numpy as np

from scorer.inference.batches import Grid, Padded, Work, distinct_pairs
from scorer.inference.bundle import Bundle
from scorer.inference.packed import Packed
from scorer.inference.texts import TextTokenizer
from scorer.status import SCORED

from . import make_rows

_REPEAT = 15


def window(bundle: Bundle, rows: int) -> Work:
    """Texts with each of their facts, as a window of a run has them."""
    rng = np.random.default_rng(0)
    texts: list[str] = []
    premise: list[int] = []
    hypothesis: list[int] = []
    for i, one in enumerate(make_rows.inputs(rng, rows)):
        facts = [f"The {predicate} of {subject} is {value}." for subject, predicate, value in one]
        first = len(texts)
        texts += [make_rows.render(rng, one, i % 3), " ".join(facts), *facts]
        premise += [first] * len(facts) + [first + 1]
        hypothesis += [*range(first + 2, first + 2 + len(facts)), first]
    tokens = TextTokenizer(bundle).encode(texts)
    pairs = distinct_pairs(np.array(premise, np.int32), np.array(hypothesis, np.int32), tokens, tokens)
    lengths = pairs.first_length + pairs.second_length + bundle.layout.overhead
    n = len(pairs)
    return Work(pairs, tokens, tokens, np.full(n, SCORED, np.int8), np.zeros(n, bool), [], lengths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=65536, help="of the largest call")
    parser.add_argument("--rows", type=int, default=16384, help="of the window")
    args = parser.parse_args()
    bundle = Bundle.load("embedded-e2e")
    work = window(bundle, args.rows)
    layout = Packed(args.tokens, bundle.max_length, bundle.layout)
    batches = layout.pack(work.lengths, np.arange(len(work.pairs)))
    real = int(work.lengths.sum())
    padded = Padded(Grid(8, args.tokens, bundle.max_length), bundle.layout).pack(
        work.lengths, np.arange(len(work.pairs))
    )
    computed = sum(batch.tokens for batch in batches)
    print(f"{len(work.pairs):,} pairs, {real:,} tokens ({real / len(work.pairs):.1f} a pair)")
    sizes = Counter(batch.tokens for batch in batches)
    print(f"packed: {len(batches)} calls ({', '.join(f'{n} of {size:,}' for size, n in sizes.most_common())}), "
          f"{len({(b.tokens, b.rows, b.sequence_length) for b in batches})} shapes, "
          f"fillers {1 - real / computed:.2%} of the tokens")  # fmt: skip
    print(f"padded: {len(padded)} calls, {len({(b.rows, b.sequence_length) for b in padded})} shapes, "
          f"padding {1 - real / sum(b.tokens for b in padded):.2%} of the tokens")  # fmt: skip
    best = []
    for batch in [batch for batch in batches if batch.tokens == layout.sizes[0]]:
        times = []
        for _ in range(_REPEAT):
            began = time.perf_counter()
            layout.assemble(batch, work)
            times.append(time.perf_counter() - began)
        best.append(min(times))
    if best:
        print(f"a call of {layout.sizes[0]:,} tokens is put together in {1e3 * statistics.median(best):.2f} ms "
              f"(best of {_REPEAT} each, median over {len(best)} calls)")  # fmt: skip


if __name__ == "__main__":
    main()
