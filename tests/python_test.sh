#!/usr/bin/env bash
# The tests of the Python package over a build, where a Python with pytest and NumPy is at hand; 77:
# there is none. python_test.sh SOURCE LIBRARY
set -euo pipefail
source=$1 library=$2
for python in "$source/.venv/bin/python" python3; do
  "$python" -c "import numpy, pytest" 2>/dev/null || continue
  cd "$source"
  PANDO_LIBRARY=$library PYTHONPATH=$source/python exec "$python" -m pytest -q -p no:cacheprovider
done
echo "skipped: no Python with numpy and pytest (hint: scripts/python-test makes one in .venv)"
exit 77
