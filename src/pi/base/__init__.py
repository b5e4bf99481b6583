"""What everything stands on: values, errors, clock, files, processes.

A fixed list of modules, held by a test: this folder must not become a drawer. Knows nothing of
models, agents or screens; imports the standard library and msgspec.
"""

import logging
import sys
import threading


def _import_msgspec() -> None:
    """Have msgspec without ``typing_extensions``, a big module that is often installed.

    What msgspec prefers to take from there is the same in ``typing``, since Python 3.11. Nobody
    else must miss it meanwhile, so that it is done only before there are threads.
    """
    if "typing_extensions" in sys.modules or threading.active_count() > 1:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # says: there is none
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


_import_msgspec()

# What we log is for whoever configures logging; nothing reaches a terminal by itself.
logging.getLogger("pi").addHandler(logging.NullHandler())
