#!/bin/sh
# The bare environment of `make demo`: everything a user has without torch or transformers.
set -eu
bin=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

if "$bin/python" -c 'import torch' 2>/dev/null || "$bin/python" -c 'import transformers' 2>/dev/null; then
  echo "smoke: the run-time environment holds torch or transformers" >&2
  exit 1
fi

# An import that loads nothing heavy: of what is installed beside it nothing at all, and of Python's own few modules.
# The budget is 0.2 s over an empty interpreter. Its time is shown (best of five, CPU seconds, which count no waiting)
# and warned about, no more: a busy machine says nothing about the program.
"$bin/python" - "$bin/python" <<'PY'
import resource, subprocess, sys

def used():
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime

def cost(code):
    before = used()
    subprocess.run([sys.argv[1], "-c", code], check=True)
    return used() - before

def best(code):
    return min(cost(code) for _ in range(5))

# What the interpreter loads for itself at its start (a .pth file of an editable install, say) is not the import's.
listing = "import sys; before = set(sys.modules); import scorer; print(*sorted(set(sys.modules) - before))"
loaded = subprocess.run([sys.argv[1], "-c", listing], check=True, capture_output=True, text=True).stdout.split()
others = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - {"scorer"}
extra = best("import scorer") - best("")
print(f"import scorer: {len(loaded)} modules, {extra * 1000:.0f} ms of CPU more than an empty Python")
if extra > 0.2:
    print("smoke: warning: import scorer takes more than 0.2 s", file=sys.stderr)
if others or len(loaded) > 120:
    sys.exit(f"smoke: import scorer loads {len(loaded)} modules, and with them {sorted(others) or 'no package'}")
PY

"$bin/scorer" --help >/dev/null
"$bin/scorer" --version
"$bin/scorer" check --triples 'Blue Spice | eatType | pub' --text 'Blue Spice is a pub.'
"$bin/scorer" run scorer/embedded/domains.parquet --bundle embedded --out "$out/scored" --json >"$out/run.json" 2>/dev/null
"$bin/python" - "$out" <<'PY'
import json, pathlib, sys
import pyarrow.parquet as pq

out = pathlib.Path(sys.argv[1])
summary = json.loads((out / "run.json").read_text())
table = pq.read_table(out / "scored" / "domains.parquet")
assert len(table) == summary["rows"]["in"] == summary["rows"]["scored"] > 0, summary["rows"]
assert table["fine"].null_count == 0
PY
if "$bin/scorer" export roberta-large-mnli "$out/bundle" 2>"$out/error"; then
  echo "smoke: export worked without its extra" >&2
  exit 1
elif ! grep -q "pip install" "$out/error"; then
  echo "smoke: export without its extra does not say what to install:" >&2
  cat "$out/error" >&2
  exit 1
fi
echo "smoke: passed"
