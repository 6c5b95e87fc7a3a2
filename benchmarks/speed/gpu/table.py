"""Results of a measurement as Markdown."""

from __future__ import annotations

from pathlib import Path

from .steps import results


def table(path: Path) -> str:
    """Rows for docs/speed.md and docs/figures.md, with the card, from a file of results."""
    found = results(path)
    matrix = next((one for one in found if one["step"] == "matrix"), {})
    sustained = matrix.get("sustained", 0) / 1e12
    lines = [
        f"{matrix.get('device', 'no device')}: {sustained:.0f} TFLOP/s sustained ({matrix.get('smi', '')})",
        "",
        "| | pairs/s | of the matrix rate |",
        "|---|---|---|",
    ]
    for one in found:
        share = f"{one['tflops'] / sustained:.1%}" if "tflops" in one and sustained else ""
        rate = f"{one['pairs_per_s']:,}" if "pairs_per_s" in one else one.get("error")
        if one["step"] == "variant":
            lines.append(f"| bare, kernel {one['kernel']}, {one['tokens']:,} tokens a call | {rate} | {share} |")
        elif one["step"] == "peer":
            lines.append(f"| CrossEncoder {one['dtype']}, batch {one.get('batch')} | {rate} | |")
        elif one["step"] == "run":
            unique, stages = one["checks"]["unique"], one["seconds"]
            of = f"{one['of']}: {unique:,} pairs, {stages.get('total')} s, of them infer {stages.get('infer')} s"
            flops = one["speed"].get("model_flops_per_s")
            share = f"{flops / sustained / 1e12:.1%}" if flops and sustained else ""
            lines.append(f"| {of} | {one['speed'].get('unique_pairs_per_s', 0):,.0f} | {share} |")
        elif one["step"] == "labels" and "same" in one:
            lines.append(f"| labels of {one['kind']} as fp32 | {one['same']:,} of {one['of']:,} | |")
    lines.append("")
    ends = (one for one in found if one["step"] == "end" and one["of"] in ("first use", "second use", "many"))
    lines += [f"{one['of']}: {one['seconds']} s as a command, exit code {one['code']}" for one in ends]
    return "\n".join(lines)
