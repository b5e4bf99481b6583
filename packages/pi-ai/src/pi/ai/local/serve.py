"""Child process that serves a model file.

``python -m pi.ai.local.serve FILE CONTEXT THREADS FOLDER`` prints its address, on loopback and a
port the system chose, and exits when its standard input closes, so that it cannot outlive pi.
FOLDER has libraries that pi could not add to its own environment.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Load the model, print the address, and wait for the end of the input."""
    file, context, threads, folder = sys.argv[1:]
    sys.path.append(folder)
    from xllamacpp import CommonParams, Server  # the optional `local` extra

    settings = CommonParams()
    settings.model.path = file
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = int(context)
    settings.n_parallel = 1
    settings.cpuparams.n_threads = int(threads)
    settings.warmup = False
    server = Server(settings)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    os._exit(0)  # the engine's own shutdown waits for abandoned requests


if __name__ == "__main__":
    main()
