"""Compare this project with its alternatives on a CUDA machine: `make bench-gpu-prepare bench-gpu-measure`.

    python -m benchmarks.speed.gpu --step prepare --kit SITE_DIR   # checkpoint, bundles, first use
    python -m benchmarks.speed.gpu --step measure --kit SITE_DIR [--groups sessions large ...]
    make bench-gpu-prepare bench-gpu-measure DEVICE=cpu         # tries the script: a tiny model, both steps

Needs no network. ``--kit`` is the folder into which ONNX Runtime for CUDA and the exporter's libraries were installed:
export and our engine run with it on PYTHONPATH, the peers in processes without it, on the machine's own PyTorch,
transformers and sentence-transformers. Measured after the device's matrix rate, what matters most first: what the
runtime makes of the graphs (``sessions``); many rows, and the first use of a bundle (``large``, ``runs``); forms and
sizes of calls (``choices``); the labels of half precision (``labels``); all settings on E2E-like pairs (``e2e``). Each
group is printed when it has ended, and the JSON is written after each pass, so that what was measured is there when the
time is over; a later call with other groups adds to it. On a CPU the packed settings fail and say why: only a GPU has
their kernels.

Utilisation counts real tokens only. Work that our graph or batching saves still counts as useful, padding never does.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .bench import GROUPS, ROOT, STEPS, Bench
from .settings import PEERS


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kit", type=Path, help="folder with ONNX Runtime for CUDA and the exporter's libraries")
    parser.add_argument("--step", choices=STEPS, required=True, help="what to do; a call does one of them")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--folder", type=Path, default=Path(".bench"))
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--name", help="name of the result files; by default gpu, on a CPU gpu-trial-on-cpu")
    parser.add_argument("--preset", default="roberta-large")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS, help="groups to measure, in this order")
    parser.add_argument(
        "--pairs", type=int, default=4096, help="minimum number in each sample; the group large has 8 times as many"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=int, help="tokens a batch; by default the program's own choice there")
    parser.add_argument(
        "--budgets",
        type=int,
        nargs="*",
        default=[8192, 16384, 32768, 65536, 131072],
        help="tokens a call of the packed forms, for the choices",
    )
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 128, 256], help="tried for the peers")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="those of the group e2e")
    parser.add_argument("--minutes", type=float, default=8.0, help="begin no further group or round after this long")
    args = parser.parse_args(arguments)
    bench = Bench(args)
    if args.step == "prepare":
        bench.prepare()
    else:
        bench.measure()


if __name__ == "__main__":
    main()
