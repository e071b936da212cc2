"""`python -m pando`."""

import sys

from ._run import main

sys.exit(main(sys.argv[1:]))
