"""Builds the model's context of a session without compactions: ``context ENTRIES``.

Prints the CPU time in ms.
"""

import sys
import tempfile
import time
from pathlib import Path

from bench.programs.session.sample import make_session
from pi.coding.session.context import build_session_context
from pi.coding.session.opening import SessionLocation, open_session


def main(entries: int) -> None:
    """Open it and build the context once."""
    with tempfile.TemporaryDirectory() as folder:
        log = open_session(
            make_session(Path(folder), entries), SessionLocation(None, "/somewhere", print)
        )
        begun = time.process_time()
        shown = build_session_context(log)
        spent = time.process_time() - begun
        assert len(shown.messages) == entries
        print(spent * 1e3)
        log.close()


main(int(sys.argv[1]))
