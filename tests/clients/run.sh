#!/usr/bin/env bash
# A test with clients of others, where they are installed; 77: they are not.
# run.sh SOURCE TEST PANDO ENVIRONMENT
set -euo pipefail
if [ ! -f "$1/$4/installed.txt" ]; then
  echo "skipped: no clients (hint: scripts/clients-test installs them in $4)"
  exit 77
fi
exec "$1/$4/bin/python" "$1/tests/clients/$2" "$3"
