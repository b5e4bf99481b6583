"""Appends 1,000 messages to a file, one ``write`` each, with nothing around it.

Prints the CPU time in ms.
"""

import json
import os
import tempfile
import time
from itertools import islice
from pathlib import Path

import msgspec

from bench.programs.session.sample import messages


def main() -> None:
    """Append to one file."""
    with tempfile.TemporaryDirectory() as folder:
        new = [msgspec.to_builtins(message) for message in islice(messages(), 1000)]
        file = os.open(Path(folder, "file"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        begun = time.process_time()
        for message in new:
            os.write(file, json.dumps({"type": "message", "message": message}).encode() + b"\n")
        print((time.process_time() - begun) * 1e3)
        os.close(file)


main()
