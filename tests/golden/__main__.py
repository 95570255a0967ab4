"""Renew what is stored: `python -m tests.golden [WORD...]`."""

import sys

from .renewing import renew

renew(sys.argv[1:])
