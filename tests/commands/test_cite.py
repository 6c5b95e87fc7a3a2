"""What to cite, with and without an output."""

from __future__ import annotations

from pathlib import Path

from scorer import __version__
from tests.evaluation.scored import output
from tests.run.calls import scorer

ROOT = Path(__file__).resolve().parents[2]


def test_the_paper_and_the_program_are_those_of_the_citation_file() -> None:
    printed = scorer("cite").stdout
    citation = (ROOT / "CITATION.cff").read_text()
    for field in ("title", "doi", "url"):
        value = next(line.partition(": ")[2] for line in reversed(citation.splitlines()) if f" {field}:" in line)
        assert f"{field} = {{{value}}}" in printed
    assert printed.count("@") == 2 and printed.count("{") == printed.count("}")
    assert f"version = {{{__version__}}}" in printed and f"computed by d2t-scorer {__version__}" in printed


def test_an_output_names_its_model_and_options(tmp_path: Path) -> None:
    printed = scorer("cite", output(tmp_path / "out")).stdout
    assert "note = {signature of the labels: model:made-up@0123456789ab|prec:fp32" in printed
    assert "with the model made-up (bundle 0123456789ab) in fp32; facts were worded by the backoff template." in printed
    assert "does not exist" in scorer("cite", tmp_path / "none", code=2).stderr
