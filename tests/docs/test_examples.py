"""What README and docs show, list and name is so."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer import Scorer
from scorer.commands import COMMANDS, app
from scorer.commands.check import EXAMPLE_TEXT
from scorer.metric.fact_templates import Templates
from tests.audit.nights import night, row
from tests.conftest import ROOT
from tests.run import calls

# Pages on facts, recipes, architecture and benchmarks are part of the plan of 0.1.0.
# docs/figures.md has the figures of worst sentences, one side and languages.
# The README shows what (omitted) means, as scorer check prints it; pages say which wrong values are not found.
# The README has the table of what others ask for; benchmarks/README.md which benchmark answers which question.
# docs/speed.md has the speed of int8 as it is now.
# docs/figures.md has the worst sentence and one side by set.
# training/README.md says what a run on people's own tables gave, and why its weights do not ship.
WORDS, README_WORDS, PAGES_WORDS = 29_900, 830, 22_200
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted((ROOT / "docs").glob("*.md"))
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(path for name in ("docs", "scorer", "training", "benchmarks", "tests") for path in (ROOT / name).rglob("*.md")),
]
OF_OTHERS = {
    *("--address", "--against", "--build-arg", "--data", "--depth", "--format", "--gpus", "--head"),
    *("--gpus-per-task", "--human", "--index-url", "--no-deps", "--one-shard", "--profile", "--require-hashes"),
    *("--install-completion", "--rows", "--slots", "--version", "--e2e-ignore-restaurant"),
}
"""Of `scorer` itself, git, docker, ray, pip, sbatch, the aws client, nlgi_eval, and of what is not in the package."""


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "printed"), [("README.md", "OK "), ("docs/python.md", "OK ")])
def test_the_python_of_a_page_runs(page: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    for code in blocks(ROOT / page, "python"):
        exec(compile(code, page, "exec"), {})
    shown = capsys.readouterr().out
    assert shown.startswith(printed)
    assert page == "README.md" or shown.endswith("omission [1]\n")


def test_the_check_of_the_readme_prints_what_the_readme_shows() -> None:
    found = re.search(r"^scorer (check .*)\n```\n\n```text\n(.*?)```", README, re.MULTILINE | re.DOTALL)
    result = calls.scorer(*shlex.split(found[1]))
    digits = re.compile(r"(?<=0\.\d)\d+")  # further ones differ between processors
    assert digits.sub("", result.stdout) == digits.sub("", found[2])


def test_the_first_table_of_the_readme_is_what_the_embedded_model_says() -> None:
    row = re.compile(r"^\| ([A-Z][^|]*|the same) \| ([A-Z][^|]*) \| `(\S+)`(?: \(fact (\d)\))? \|$", re.MULTILINE)
    rows = row.findall(README)
    assert {label for _, _, label, _ in rows} == {"OK", "omission", "hallucination"}
    facts: list[str] = []
    with Scorer.embedded() as scorer:
        for given, text, label, omitted in rows:
            facts = facts if given == "the same" else re.findall(r"[^.]+\.", given)
            verdict = scorer.score_facts(facts, text)
            assert (verdict.fine, verdict.omitted) == (label, [int(omitted)] if omitted else [])


def test_the_example_of_the_console_is_what_the_embedded_model_says() -> None:
    result = CliRunner().invoke(app, ["check"], input="quit\n")
    assert (result.exit_code, result.stdout[:3]) == (0, "OK ")
    assert f"text: {EXAMPLE_TEXT}" in result.stdout


def test_pages_are_short_and_the_index_lists_every_one() -> None:
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in DOCUMENTS}
    assert words[ROOT / "README.md"] <= README_WORDS
    assert sum(words[page] for page in PAGES) <= PAGES_WORDS
    assert sum(words.values()) <= WORDS
    for listing, pattern in (("docs/README.md", r"\]\((\w[^)/]+)\)"), ("mkdocs.yml", r"- (\S+\.md)$")):
        listed = re.findall(pattern, (ROOT / listing).read_text(encoding="utf-8"), re.MULTILINE)
        assert {page.name for page in PAGES} - {"README.md"} == set(listed) - {"README.md"}, listing


def test_the_template_file_of_the_docs_loads() -> None:
    for example in blocks(ROOT / "docs" / "templates.md", "json"):
        assert Templates.from_dict(json.loads(example)).plain


def reference() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "reference.py")))


def options() -> dict[str, set[str]]:
    """The options of each command."""
    return {
        name: {word for one in command.params for word in one.opts} | {"--help", "--quiet", "--verbose"}
        for name, command, _ in reference().commands()
    }


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_docs_name_exists(page: Path) -> None:
    """Commands, options, targets of make, modules, files of the repository, links and their headings."""
    text = page.read_text(encoding="utf-8")
    if page.name == "upgrading.md":
        text = re.sub(r"^- .*? → ", "- ", text, flags=re.MULTILINE)  # what is gone
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make ([a-z][a-z-]+)`", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for command in re.findall(r"(?:`|^)scorer ([a-z]+)", text, re.MULTILINE):
        assert command in COMMANDS, f"scorer {command}"
    of = options()
    for line in re.findall(r"(?:`|^)scorer ([^`\n]*)", text, re.MULTILINE):
        name = next((name for name in of if f"{line} ".startswith(f"{name} ")), "")
        unknown = set(OPTION.findall(line)) - of[name] if name else set()
        assert not unknown, line
    if page in PAGES or page.parent == ROOT:
        unknown = set(OPTION.findall(re.sub(r"\]\(\S*\)", "", text))) - set().union(*of.values()) - OF_OTHERS
        assert not unknown
    text = re.sub(r"`[^`]+`\s+at\s+(commit|the\s+tag)", "", text)  # what another commit has
    for module in re.findall(r"python -m ((?:benchmarks|training|scorer)[\w.]*)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), f"python -m {module}"
    for path in re.findall(r"(?<![\w/.-])((?:tests|examples|docs|scorer|export|benchmarks)/[\w./-]*\.\w+)`", text):
        assert (ROOT / path).exists(), path
    for link, heading in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", text):
        target = page.parent / link if link else page
        assert target.exists(), link
        headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
        slugs = {re.sub(r"[^\w\s-]", "", one.lower()).strip().replace(" ", "-") for one in headings}
        assert not heading or heading in slugs, f"{link}#{heading}"


def test_every_option_has_help_and_is_in_the_reference() -> None:
    made = reference()
    page = (ROOT / "docs" / "using.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## `scorer (.*?)`\n(.*?)(?=^## |\Z)", made.page(), re.MULTILINE | re.DOTALL))
    for name, command, context in made.commands():
        assert f"`scorer {name}" in page
        assert command.help, f"no help for {name}"
        others = re.findall(r"^As `scorer (.*)`, all except: ", sections[name], re.MULTILINE)
        listed = "".join([sections[name], *(sections[other].split("```")[1] for other in others)])
        for option, text in made.records(command, context):
            assert re.sub(r"\[.*?\]", "", text).strip(), f"no help for {option} of {name}"
            assert option.split()[0] in listed, f"{option} of {name} is not in the reference"


def test_the_files_and_names_of_contributing_are_there() -> None:
    sources = [path for folder in ("scorer", "export", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"`([^`\s]+)`", page)):
        if name.endswith((".py", "/")):
            assert any((ROOT / folder / name).exists() for folder in ("", "scorer")), name
        elif re.fullmatch(r"_?[a-z]+(_[a-z]+)+|_?[A-Z_]{5,}|_[a-z]+", name):
            assert re.search(rf"\b{name}\b", code), name
    assert len(re.findall(r"^- `\w+/\w+\.py`: ", page, re.MULTILINE)) == 12


BLOCK = re.compile(r"(?:^`([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DATA = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


def column(file: str, name: str) -> list[Any]:
    return list(pq.read_table(file)[name].to_pylist())


def test_every_example_gives_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = []
    for name, _, content in BLOCK.findall(DATA):
        if name:
            Path(name).write_text(content, encoding="utf-8")
            continue
        for line in content.splitlines():
            result = calls.scorer(*shlex.split(line)[1:])
            assert " convert " not in line or " 0 malformed lines" in result.stderr
            printed.append(result.stdout)
    plan, _, _, explained, _, _, _, document, *_ = printed
    assert len(printed) == 10 and Path("products.html").exists()
    assert all(fact in plan for fact in re.findall(r"`(The [^`]+\.)`", DATA)[:2])
    assert "attributes without a value: 1" in plan
    assert "hallucination" in explained
    assert "The museum is open from 10 am to 6 pm." in document
    assert column("products/products.parquet", "fine") == ["OK", "hallucination", "omission"]
    assert column("hotels/hotels.parquet", "fine") == ["OK", "omission"]  # `embedded` overlooks Oslo for Bergen
    assert [len(found) for found in column("games/games.parquet", "sentences")] == [2]
    assert [len(found) for found in column("answers/answers.parquet", "sentences")] == [2, 1]
    assert column("systems.parquet", "system") == ["alpha", "alpha", "beta", "beta", "beta"]
    assert column("alpha.parquet", "references")[0][1] == "The Thai pub is The Lamb."


QUERIES = ROOT / "docs" / "query.md"
ORDER = ("omission+hallucination", "hallucination", "omission", "OK")
Rows = list[dict[str, Any]]


def made(shift: int) -> Rows:
    """Forty rows of two systems whose facts and texts fail by turns."""
    found = []
    for i in range(40):
        facts = [("food", 0.1 if (i + shift) % 4 == 0 else 0.9), ("area", 0.2 if (i + shift) % 5 == 0 else 0.8)]
        text = f"text {i}" if i % 3 else f"text {i} of {shift}"
        more = {"id": i, "system": "ab"[i % 2], "input": i // 4, "error": "too_long:omission" if i == 11 else None}
        found.append(row(text, facts, 0.3 if (i + shift) % 7 == 0 else 0.95, subject=f"S{i}", **more))
    return found


def read(folder: Path) -> Rows:
    tables = {file.name: pq.read_table(file).to_pylist() for file in sorted(folder.glob("*.parquet"))}
    return [one | {"place": f"{name}:{i}"} for name, table in tables.items() for i, one in enumerate(table)]


def expected(tonight: Rows, yesterday: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """The results by the first words of each question."""
    labelled = [one for one in tonight if one["error"] is None]
    bad = [one for one in labelled if one["rough"] == "not_OK"]
    before = {one["id"]: one for one in yesterday}
    keys = {one["row_key"]: one["fine"] for one in yesterday}
    systems, inputs = ({one[name]: [] for one in labelled} for name in ("system", "input"))
    for one in labelled:
        systems[one["system"]].append(one)
        inputs[one["input"]].append(one)
    rows = Counter(one["system"] for one in tonight)
    worst = [(name, rows[name], round(100 * sum(x in bad for x in of) / len(of), 1)) for name, of in systems.items()]
    kinds = Counter((one["system"], one["fine"]) for one in bad)
    facts = Counter(triple["predicate"] for one in labelled for triple in one["triples"])
    lost = Counter(one["triples"][i]["predicate"] for one in labelled for i in one["omitted"])
    pairs = Counter((one["fine"], keys[one["row_key"]]) for one in tonight if one["row_key"] in keys)
    best = [max(of, key=lambda one: (ORDER.index(one["fine"]), one["confidence"])) for of in inputs.values()]
    doubted = sorted(bad, key=lambda one: (one["confidence"], one["place"]))[:20]
    worse = [one for one in bad if before[one["id"]]["rough"] == "OK"]
    return {
        "Which system is worst": sorted(worst, key=lambda one: -one[2]),
        "What kinds": sorted(((*key, n) for key, n in kinds.items()), key=lambda one: (one[0], -one[2], one[1])),
        "Which rows have no label": [("too_long", 1, 11)],
        "Which predicates": sorted(
            ((name, n, round(100 * lost[name] / n, 1)) for name, n in facts.items()), key=lambda one: (-one[2], one[0])
        ),
        "Which rows should": [(one["place"], one["fine"], one["confidence"], one["text"]) for one in doubted],
        "What became worse": [(one["id"], before[one["id"]]["text"], one["text"], one["fine"]) for one in worse],
        "Do two models": sorted(
            ((*key, n) for key, n in pairs.items()), key=lambda one: (-one[2], one[0] or "~", one[1] or "~")
        ),
        "Which of several": [(one["input"], one["text"]) for one in best],
    }


def test_the_queries_answer_their_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    night(tmp_path / "tonight", made(0), shards=3)
    night(tmp_path / "yesterday", made(1), shards=2)
    monkeypatch.chdir(tmp_path)
    queries = re.findall(r"^\*\*(.*?)\*\*.*?^```sql\n(.*?)^```", QUERIES.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    wanted = expected(read(tmp_path / "tonight"), read(tmp_path / "yesterday"))
    for (question, query), (words, result) in zip(queries, wanted.items(), strict=True):
        assert question.startswith(words) and result
        assert duckdb.sql(query).fetchall() == result, question
    pytest.importorskip("polars")
    names: dict[str, Any] = {}
    (code,) = blocks(QUERIES, "python")
    exec(code, names)
    found = [(name, facts, round(100 * share, 1)) for name, facts, share in names["by_predicate"].rows()]
    assert sorted(found) == sorted(wanted["Which predicates"])
