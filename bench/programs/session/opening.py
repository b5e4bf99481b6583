"""Opens a session file: ``opening ENTRIES``.

Prints the CPU time in ms and what is then in memory, as a multiple of the file's size.
"""

import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from bench.programs.session.sample import make_session
from pi.coding.session.opening import SessionLocation, open_session


def main(entries: int) -> None:
    """Open it once for the time and once more for the memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = make_session(Path(folder), entries)
        location = SessionLocation(None, "/somewhere", print)
        begun = time.process_time()
        log = open_session(path, location)
        spent = time.process_time() - begun
        log.close()
        del log
        tracemalloc.start()
        log = open_session(path, location)
        held, _ = tracemalloc.get_traced_memory()
        print(spent * 1e3, held / path.stat().st_size)
        log.close()


main(int(sys.argv[1]))
