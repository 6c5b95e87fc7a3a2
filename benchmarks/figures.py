"""Pictures of the documentation, from the files of benchmarks/results: SVGs whose text stays text (`make figures`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot

RESULTS = Path(__file__).parent / "results"
PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
OURS, OTHERS, LIMIT = "#3f51b5", "#9e9e9e", "#d7d7d7"

matplotlib.use("svg")
matplotlib.rcParams |= {
    "svg.fonttype": "none",
    "svg.hashsalt": "d2t-scorer",
    "font.family": "sans-serif",
    "font.size": 10,
    **{f"axes.spines.{side}": False for side in ("top", "right", "left")},
}


def read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text())


def save(figure: pyplot.Figure, name: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def bars(name: str, title: str, labels: Sequence[str], values: Sequence[float], colours: Sequence[str]) -> None:
    figure, axes = pyplot.subplots(figsize=(7.5, 0.34 * len(labels) + 0.7))
    axes.barh(range(len(labels)), values, color=colours, height=0.7)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(length=0)
    for place, value in enumerate(values):
        axes.text(value, place, f" {value:,.0f}" if value >= 100 else f" {value:.3g}", va="center")
    axes.set_title(title, loc="left", fontsize=11)
    save(figure, name)


def accuracy() -> None:
    """Figures of the paper's tables: the model that ships and roberta-large-mnli as published."""
    figures = read("quality.json")["figures"]
    labels = [f"{one['data']}, {one['wording']}\n{one['name']}" for one in figures]
    figure, axes = pyplot.subplots(figsize=(7.5, 4.6))
    for offset, key, colour, label in (
        (-0.19, "embedded", OURS, "embedded model (17 M parameters)"),
        (0.19, "paper", OTHERS, "the paper (roberta-large-mnli, 355 M)"),
    ):
        values = [one[key] for one in figures]
        places = [place + offset for place in range(len(figures))]
        axes.barh(places, values, height=0.36, color=colour, label=label)
        for place, value in zip(places, values, strict=True):
            axes.text(value + 0.005, place, f"{value:.3f}".lstrip("0"), va="center", fontsize=8)
    axes.set_yticks(range(len(labels)), labels, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.05)
    axes.tick_params(axis="y", length=0)
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=9)
    save(figure, "accuracy")


def speed() -> None:
    """Pairs per second of full-size models: on two cores, the fastest first, and on one GPU, on the same pairs."""
    (group,) = (one for one in read("cpu.json")["groups"] if one["name"] == "pairs")
    rows = [(one["label"], one["median"], OURS if one["ours"] else OTHERS) for one in group["settings"]
            if one.get("median") and not one["bare"]]  # fmt: skip
    title = "Pairs per second, roberta-large, two CPU cores"
    bars("speed-cpu", title, *zip(*sorted(rows, key=lambda row: -row[1]), strict=True))
    found, colours = read("gpu_figures.json"), {"ours": OURS, "peer": OTHERS, "bare": LIMIT}
    rows = [(row["label"], row["pairs_per_s"], colours[row["kind"]]) for row in found["rows"]]
    bars("speed-gpu", f"Pairs per second, roberta-large, one {found['device']}", *zip(*rows, strict=True))


def challenge() -> None:
    """Share of texts judged correctly, by kind of change: wrong texts flagged, correct texts passed."""
    kinds = read("challenge.json")["kinds"]
    figure, panels = pyplot.subplots(1, 2, figsize=(9.5, 4.8))
    for axes, wrong, title in zip(
        panels, (True, False), ("wrong texts: flagged", "correct texts: passed"), strict=True
    ):
        shown = sorted((kind for kind in kinds if kind["wrong"] == wrong), key=lambda kind: -kind["right"])
        axes.barh([kind["name"] for kind in shown], [100 * kind["right"] for kind in shown], color=OURS, height=0.7)
        for place, kind in enumerate(shown):
            axes.text(101, place, f"{100 * kind['right']:.0f}", va="center", fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, 108)
        axes.set_xticks([0, 50, 100], ["0", "50", "100 %"])
        axes.tick_params(axis="y", length=0)
        axes.set_title(title, loc="left", fontsize=11)
    figure.tight_layout()
    save(figure, "challenge")


if __name__ == "__main__":
    accuracy()
    speed()
    challenge()
