#!/usr/bin/env bash
# A test with the published model, where scripts/published has brought it; 77: it has not.
# run.sh SOURCE TEST PANDO
set -euo pipefail
python=$1/.venv-published/bin/python
if [ ! -f "$1/.venv-published/installed.txt" ] || [ ! -d "$1/build/published" ]; then
  echo "skipped: no published model (hint: scripts/published brings it)"
  exit 77
fi
exec "$python" "$1/tests/published/$2" "$3"
