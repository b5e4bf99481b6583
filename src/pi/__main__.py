"""``python -m pi`` is the same program as the ``pi`` command."""

import sys

from pi.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
