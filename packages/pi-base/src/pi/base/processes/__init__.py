"""Child processes: the only package that starts, feeds, reads, times out and kills them.

A child gets exactly the environment it is given, a session of its own, no file descriptors but its
three streams, and no input unless requested. Ending it ends its whole tree, also descendants that
ignore SIGTERM, have moved to another session or have lost their parent. It never outlives pi, even
if pi is killed; ``supervisor.py`` explains how.
"""

from pi.base.processes.child import BadFrame, Child, Exit, Finished, run, spawn
from pi.base.processes.direct import SpawnFailed, start_detached
from pi.base.processes.environment import (
    MARKER,
    allow_listed,
    desktop_environment,
    find_program,
    with_absolute_path,
    without,
)

__all__ = [
    "MARKER",
    "BadFrame",
    "Child",
    "Exit",
    "Finished",
    "SpawnFailed",
    "allow_listed",
    "desktop_environment",
    "find_program",
    "run",
    "spawn",
    "start_detached",
    "with_absolute_path",
    "without",
]
