"""Lists all sessions of an agent's directory: ``listing SESSIONS LISTED_BEFORE``.

Prints the CPU time in ms of one more listing; the first one has no index.
"""

import sys
import tempfile
import time
from pathlib import Path

from bench.programs.session.many import make_sessions
from pi.coding.session.catalog import SessionCatalog


def main(sessions: int, before: int) -> None:
    """List them once more than ``before``."""
    with tempfile.TemporaryDirectory() as folder:
        make_sessions(Path(folder), sessions)
        catalog = SessionCatalog(Path(folder))
        for _ in range(before):
            catalog.in_all_directories()
        begun = time.process_time()
        listed = catalog.in_all_directories()
        spent = time.process_time() - begun
        assert len(listed) == sessions
        print(spent * 1e3)


main(int(sys.argv[1]), int(sys.argv[2]))
