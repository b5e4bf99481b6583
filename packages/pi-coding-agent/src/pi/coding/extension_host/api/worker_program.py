"""The program of a worker process: calls a function for each frame on its standard input.

It is run as a file and uses nothing of pi, so that the process starts quickly. Frames are a length
of four bytes, big-endian, and JSON.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any, BinaryIO


def main() -> None:
    """Answer requests until the input ends; the first frame reports the start."""
    sys.path[:] = json.loads(sys.argv[1])
    module, _, name = sys.argv[2].partition(":")
    source = sys.stdin.buffer
    sink = os.fdopen(os.dup(1), "wb")
    # Output of libraries must not reach the terminal or get between the frames.
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    function = getattr(import_module(module), name)
    write_frame(sink, None)
    while (header := source.read(4)) and len(header) == 4:
        request = json.loads(source.read(int.from_bytes(header, "big")))
        for answer in function(request):
            write_frame(sink, answer)


def write_frame(sink: BinaryIO, value: Any) -> None:
    """Write one answer."""
    data = json.dumps(value).encode()
    sink.write(len(data).to_bytes(4, "big") + data)
    sink.flush()


if __name__ == "__main__":
    main()
