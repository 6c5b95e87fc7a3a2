"""``scorer cite``: the references of a paper, and a sentence that identifies its labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .console import print_line
from .options import CitedArgument

if TYPE_CHECKING:
    from ..storage.receipts import Signature

METRIC = """@inproceedings{dusek-kasner-2020-evaluating,
  title = {Evaluating Semantic Accuracy of Data-to-Text Generation with Natural Language Inference},
  author = {Du{\\v{s}}ek, Ond{\\v{r}}ej and Kasner, Zden{\\v{e}}k},
  booktitle = {Proceedings of the 13th International Conference on Natural Language Generation},
  year = {2020},
  pages = {131--137},
  doi = {10.18653/v1/2020.inlg-1.19},
  url = {https://aclanthology.org/2020.inlg-1.19/},
}"""
_PROTOCOLS = {
    "paper": "the NLI metric of Dušek and Kasner (2020)",
    "nlgi_eval": "the NLI metric of Dušek and Kasner (2020), as their released code computes it",
    "factspotter": "the protocol of FactSpotter (Zhang, Balalau and Manolescu, Findings of EMNLP 2023)",
}
_UNUSUAL = {"checks": "both", "optional": "none", "sentences": "no", "reading": "verbatim"}
"""The usual values of parts of a signature; a methods section names other values."""


def cite_command(out: CitedArgument = None) -> None:
    """Print what to cite: BibTeX of the metric and of this program, and a sentence for a methods section.

    With OUT, the program's entry and the sentence name its model, its options and its signature.
    """
    from .. import __version__
    from ..scoring.outputs import Output

    signature = Output.open(*out).full_signature if out else None
    for text in (METRIC, "", software(__version__, signature), "", sentence(__version__, signature)):
        for line in text.split("\n"):
            print_line(line)


def software(version: str, signature: Signature | None) -> str:
    """The BibTeX entry of this program; with the signature of labels, as a note."""
    note = [] if signature is None else [f"  note = {{signature of the labels: {_bibtex(signature.line)}}},"]
    lines = [
        "@software{d2t-scorer,",
        "  title = {d2t-scorer},",
        "  author = {{The d2t-scorer maintainers}},",
        f"  version = {{{version}}},",
        *note,
        "}",
    ]
    return "\n".join(lines)


def sentence(version: str, signature: Signature | None) -> str:
    """A sentence of a methods section: how the labels were made."""
    from ..storage.receipts import line_parts

    if signature is None:
        return (
            f"Texts were labelled with {_PROTOCOLS['paper']}, computed by d2t-scorer {version}. "
            "(`scorer cite OUT` names the model and the options of an output.)"
        )
    parts = line_parts(signature.line)
    templates = "the backoff template" if parts.get("templates") == "none" else "templates"
    model, _, digest = parts.get("model", "?").partition("@")
    options = [f"{key} {parts[key]}" for key, usual in _UNUSUAL.items() if parts.get(key, usual) != usual]
    details = f" ({', '.join(options)})" if options else ""
    protocol = _PROTOCOLS.get(parts.get("protocol", "paper"), parts.get("protocol", "paper"))
    return (
        f"Texts were labelled with {protocol}, computed by d2t-scorer {version} with the model {model} "
        f"(bundle {digest}) in {parts.get('prec', '?')}; facts were worded by {templates}{details}."
    )


def _bibtex(text: str) -> str:
    return "".join(f"\\{char}" if char in "&%$#_{}" else char for char in text)
