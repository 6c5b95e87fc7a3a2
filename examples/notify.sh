#!/bin/sh
# Run the nightly script of docs/nightly.md. Where it fails, warns or begins a new series, send its summary to a Slack
# channel, or its last messages if there is none. SLACK_WEBHOOK is the channel's incoming webhook. Needs curl and jq.
set -u
summary="/srv/d2t/nights/$(date -u +%F)/_summary.md"
messages=$(mktemp)
rm -f "$summary"
/srv/d2t/nightly.sh > "$messages" 2>&1
code=$?
cat "$messages"
if [ "$code" -ne 0 ] || grep -q -e "^## Passed with warnings" -e "begins a new series" "$summary" 2> /dev/null; then
    if [ -e "$summary" ]; then
        cat "$summary"
    else
        echo "The nightly audit ended with exit code $code. Its last messages:"
        tail -n 3 "$messages"
    fi | jq -Rs '{blocks: [{type: "markdown", text: .}]}' |
        curl -fsS -H 'Content-Type: application/json' --data @- "$SLACK_WEBHOOK"
fi
rm -f "$messages"
exit "$code"
