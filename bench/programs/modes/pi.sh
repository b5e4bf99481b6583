#!/bin/sh
# pi with a home of its own, in which the models are those of the mock server: pi.sh PORT ARGUMENT…
port=$1
shift
root=$(pwd)
home=${TMPDIR:-/tmp}/pi-bench-$port
if [ ! -d "$home/project" ]; then
    mkdir -p "$home/.pi/agent" "$home/project"
    cat >"$home/.pi/agent/models.json" <<JSON
{"providers": {"mock": {"baseUrl": "http://127.0.0.1:$port/v1", "api": "openai-completions",
 "apiKey": "none", "models": [{"id": "echo-1"}, {"id": "echo-20"}, {"id": "echo-20000"},
 {"id": "tools-50"}]}}}
JSON
fi
cd "$home/project" || exit 1
HOME=$home PI_OFFLINE=1 exec "$root/.venv/bin/pi" "$@"
