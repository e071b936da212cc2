#!/usr/bin/env bash
# A test with clients of others, where they are installed; 77: they are not.
# run.sh SOURCE TEST PANDO
set -euo pipefail
python=$1/.venv-clients/bin/python
if [ ! -f "$1/.venv-clients/installed.txt" ]; then
  echo "skipped: no clients (hint: scripts/clients-test installs them in .venv-clients)"
  exit 77
fi
exec "$python" "$1/tests/clients/$2" "$3"
