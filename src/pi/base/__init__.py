"""The foundation of all layers: records, errors, clock, files, processes.

The list of modules is fixed by a test, so that this package does not collect unrelated helpers. It
imports only the standard library and msgspec, and nothing about models, agents or screens.
"""

import logging
import sys
import threading


def _import_msgspec() -> None:
    """Import msgspec without ``typing_extensions``, a big module that is often installed.

    Everything msgspec takes from it is also in ``typing`` since Python 3.11. Other imports must not
    miss the module meanwhile, so this is done only while there is a single thread.
    """
    if "typing_extensions" in sys.modules or threading.active_count() > 1:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # None makes its import fail
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


_import_msgspec()

# The embedding program configures logging; by default nothing reaches a terminal.
logging.getLogger("pi").addHandler(logging.NullHandler())
