#!/bin/sh
# Score data/ into nights/<date>, then audit it. Exits as `scorer audit` does: 1 when a gate failed, 2 when something is wrong.
set -eu
cd "${D2T_HOME:-/srv/d2t}"
PATH="$PWD/venv/bin:$PATH"
tonight="nights/$(date -u +%F)"
last="" passed=""
for night in nights/????-??-??; do
    [ "$night" != "$tonight" ] && [ -e "$night/_SUCCESS" ] && last=$night
done
[ -e nights/passed ] && passed="nights/$(readlink nights/passed)"
[ "$passed" = "$tonight" ] && passed=""

# 3: finished, but with more error rows than allowed (the audit reports them) or with unreadable shards (the audit refuses the folder).
scorer run data --out "$tonight" --bundle "${BUNDLE:-bundle}" --templates templates.json ${last:+--reuse "$last"} || [ $? -eq 3 ]

scorer audit "$tonight" --require-gates --gates gates.toml ${passed:+--baseline "$passed" --gates changes.toml} \
    --report "$tonight/_report.html" --junit "$tonight/_junit.xml" --summary "$tonight/_summary.md" --history history.parquet

if [ -n "${ACCEPT_WARNINGS:-}" ] || ! grep -q "^## Passed with warnings" "$tonight/_summary.md"; then
    ln -sfn "$(basename "$tonight")" nights/passed
fi
# Keep two weeks, and the last one that passed.
ls -d nights/????-??-?? | head -n -14 | grep -vx "nights/$(readlink nights/passed)" | xargs -r rm -r
