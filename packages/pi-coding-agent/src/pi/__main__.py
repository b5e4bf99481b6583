"""``python -m pi`` is the same program as the ``pi`` command."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # Python puts the current directory first: files of a project could shadow any module.
    del sys.path[0]

from pi.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
