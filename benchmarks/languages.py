"""How often texts are noted as in another language: English ones by mistake, and those of other languages.

``python -m benchmarks.languages DATA DJANGO``: the English texts of the evaluation data in DATA, each once, and the
translated messages of Django's source or wheel, unpacked in DJANGO, of 20 characters and more, without placeholders.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq

from scorer.metric.languages import LanguageSide
from scorer.stats.intervals import wilson

ENGLISH = (
    "public/e2e_all", "public/webnlg17_humeval", "public/webnlg20_humeval", "public/webnlg17_1triple_refs",
    "public/factspotter_webnlg_refs", "quintd/quintd_public", "public/st_texts", "field/gap_coreference",
    "field/relations_directed",
)  # fmt: skip
LANGUAGES = ("ar", "cs", "da", "de", "el", "es", "fi", "fr", "hu", "id", "it", "ja", "nl", "pl", "pt", "ro", "ru", "sv",
             "tr", "uk")  # fmt: skip
LEAST_CHARACTERS = 20
_MESSAGE = re.compile(r'^msgstr ((?:".*"\n?)+)', re.MULTILINE)


def messages(file: Path) -> list[str]:
    """The translated messages of a file of GNU gettext that are long enough and have no placeholder, each once."""
    translated = [
        "".join(ast.literal_eval(line) for line in match[1].splitlines())
        for match in _MESSAGE.finditer(file.read_text(encoding="utf-8"))
    ]
    return sorted({text for text in translated[1:] if len(text) >= LEAST_CHARACTERS and not re.search(r"[%{<]", text)})


def show(name: str, texts: list[str], side: LanguageSide) -> list[bool]:
    """Print how many of these texts are noted."""
    noted = [side.is_other(text) for text in texts]
    low, high = wilson(sum(noted), len(noted))
    print(f"{name:32}{len(noted):8,}{sum(noted):7,}{sum(noted) / len(noted):9.2%} [{low:.2%}, {high:.2%}]")
    return noted


def main(data: Path, django: Path) -> None:
    side = LanguageSide(["en"], print)
    every: dict[str, None] = {}
    for name in ENGLISH:
        column = pq.read_table(data / f"{name}.parquet", columns=["text"])["text"]
        texts = sorted({text for text in column.to_pylist() if text and text.strip()})
        show(name, texts, side)
        every |= dict.fromkeys(texts)
    show("English, all", [*every], side)
    short, long = [], []
    for language in LANGUAGES:
        texts = [
            text
            for file in sorted(django.glob(f"**/locale/{language}/LC_MESSAGES/django.po"))
            for text in messages(file)
        ]
        show(language, texts, side)
        short += [text for text in texts if len(text) < 3 * LEAST_CHARACTERS]
        long += [text for text in texts if len(text) >= 3 * LEAST_CHARACTERS]
    show(f"others, below {3 * LEAST_CHARACTERS} characters", short, side)
    show(f"others, from {3 * LEAST_CHARACTERS} characters", long, side)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
