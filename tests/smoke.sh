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

# An import that loads nothing heavy: measured against an empty interpreter, best of five each.
"$bin/python" - "$bin/python" <<'PY'
import subprocess, sys, time

def best(code):
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.argv[1], "-c", code], check=True)
        times.append(time.perf_counter() - began)
    return min(times)

extra = best("import scorer") - best("")
print(f"import scorer: {extra * 1000:.0f} ms more than an empty Python")
sys.exit(extra > 0.2)
PY

"$bin/scorer" --help >/dev/null
"$bin/scorer" --version
"$bin/scorer" check --triples 'Blue Spice | eatType | pub' --text 'Blue Spice is a pub.'
"$bin/scorer" run scorer/embedded/sample.parquet --bundle embedded --out "$out/scored" --json >"$out/run.json" 2>/dev/null
"$bin/python" - "$out" <<'PY'
import json, pathlib, sys
import pyarrow.parquet as pq

out = pathlib.Path(sys.argv[1])
summary = json.loads((out / "run.json").read_text())
table = pq.read_table(out / "scored" / "sample.parquet")
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
