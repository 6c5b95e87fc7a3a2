#!/bin/sh
# Score data/ into nights/<date>, then audit it against the last night that passed with the same signature (model, templates,
# options, metric). Exits as `scorer audit` does: 1 when a gate failed, 2 when something is wrong.
set -eu
cd "${D2T_HOME:-/srv/d2t}"
PATH="$PWD/venv/bin:$PATH"
tonight="nights/$(date -u +%F)"
last="" baseline="" code=0
for night in nights/????-??-??; do # the newest finished output that has rows
    [ "$night" != "$tonight" ] && [ -e "$night/_SUCCESS" ] && ! grep -q '"in": 0,' "$night/_run.json" && last=$night
done

scorer run data --out "$tonight" --bundle "${BUNDLE:-bundle}" --templates templates.json ${last:+--reuse "$last"} || code=$?
case $code in
0 | 3) ;; # 3: finished, but with more error rows than allowed (the audit reports them) or with failed shards (it refuses the folder)
130 | 143) exit "$code" ;; # interrupted: the same command resumes
*) exit 2 ;;
esac

# One baseline for each signature: labels are compared only with labels that were made in the same way.
passed="nights/passed-$(grep -m 1 '"signature":' "$tonight/_run.json" | sha256sum | cut -c 1-12)"
[ -e "$passed" ] && baseline="nights/$(readlink "$passed")"
[ "$baseline" = "$tonight" ] && baseline=""
code=0
scorer audit "$tonight" --require-gates --gates gates.toml ${baseline:+--baseline "$baseline" --gates changes.toml} \
    --report "$tonight/_report.html" --junit "$tonight/_junit.xml" --summary "$tonight/_summary.md" --history history.parquet || code=$?
if [ ! -e "$passed" ] && [ -n "$last" ] && [ "$code" -le 1 ]; then
    echo "$tonight begins a new series, without a baseline: no earlier night that passed was scored with its signature" |
        tee -a "$tonight/_summary.md" >&2
fi
[ "$code" -eq 0 ] || exit "$code"

if [ -n "${ACCEPT_WARNINGS:-}" ] || ! grep -q "^## Passed with warnings" "$tonight/_summary.md"; then
    ln -sfn "$(basename "$tonight")" "$passed"
fi
# Keep two weeks, and the last one that passed; links to nights that are gone go, too.
ls -d nights/????-??-?? | head -n -14 | grep -vx "nights/$(readlink "$passed")" | xargs -r rm -r
for link in nights/passed-*; do [ -e "$link" ] || rm -f "$link"; done
