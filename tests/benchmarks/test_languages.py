"""The benchmark of the note on languages: which messages it takes, and the shares that it prints."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.languages import ENGLISH, LANGUAGES, main, messages

GERMAN = "Das Restaurant liegt direkt am Fluss und ist sehr familienfreundlich."
SHORT = "Bitte wählen Sie eine Datei aus."
CATALOGUE = f"""# A header comes first.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

msgid "one"
msgstr ""
"Das Restaurant liegt direkt am Fluss "
"und ist sehr familienfreundlich."

msgid "the same again"
msgstr "{GERMAN}"

msgid "short"
msgstr "{SHORT}"

msgid "too short"
msgstr "Zu kurz"

msgid "with a placeholder"
msgstr "Es gibt insgesamt %(count)d Einträge in dieser langen Liste."
"""


def catalogue(django: Path, language: str) -> Path:
    file = django / "contrib" / "locale" / language / "LC_MESSAGES" / "django.po"
    file.parent.mkdir(parents=True)
    file.write_text(CATALOGUE, encoding="utf-8")
    return file


def test_messages_are_long_joined_and_without_placeholders(tmp_path: Path) -> None:
    assert messages(catalogue(tmp_path, "de")) == [SHORT, GERMAN]


def test_the_command_prints_a_share_for_each_set_and_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for index, name in enumerate(ENGLISH):
        file = tmp_path / f"{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        texts = ["Blue Spice is a pub by the riverside.", f"The lamp {index} costs 49 euros.", " ", None]
        pq.write_table(pa.table({"text": texts}), file)
    for language in LANGUAGES:
        catalogue(tmp_path / "django", language)
    main(tmp_path, tmp_path / "django")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == [
        *ENGLISH, "English, all", *LANGUAGES, "others, below 60 characters", "others, from 60 characters"
    ]  # fmt: skip
    counts = {line[:32].strip(): line[32:].split()[:2] for line in lines}
    assert counts["English, all"] == [str(1 + len(ENGLISH)), "0"]
    assert counts["de"] == ["2", "2"]
    assert counts["others, below 60 characters"] == [str(len(LANGUAGES))] * 2
    assert counts["others, from 60 characters"] == [str(len(LANGUAGES))] * 2
