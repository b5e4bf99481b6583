"""``json.loads`` over the lines of a session file: ``bare_opening ENTRIES``.

Prints the CPU time in ms and what the values need in memory, as a multiple of the file's size.
"""

import json
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from bench.programs.session.sample import make_session


def main(entries: int) -> None:
    """Read once for the time, dropping every value, and once more for the memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = make_session(Path(folder), entries)
        lines = path.read_bytes().split(b"\n")[:-1]
        begun = time.process_time()
        for line in lines:
            json.loads(line)
        spent = time.process_time() - begun
        tracemalloc.start()
        values = [json.loads(line) for line in lines]
        held, _ = tracemalloc.get_traced_memory()
        print(spent * 1e3, held / path.stat().st_size)
        del values


main(int(sys.argv[1]))
