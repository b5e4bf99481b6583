"""The least that a list of sessions could cost: ``bare_listing SESSIONS LISTED_BEFORE``.

Every header is decoded and every line counted; if it was listed before, files are only looked at.
Prints the CPU time in ms.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from bench.programs.session.many import make_sessions


def main(sessions: int, before: int) -> None:
    """Go over all files once."""
    with tempfile.TemporaryDirectory() as folder:
        paths = make_sessions(Path(folder), sessions)
        begun = time.process_time()
        for path in paths:
            if before:
                path.stat()
            else:
                header, *lines = path.read_bytes().splitlines()
                assert json.loads(header)["id"]
                assert lines
        print((time.process_time() - begun) * 1e3)


main(int(sys.argv[1]), int(sys.argv[2]))
