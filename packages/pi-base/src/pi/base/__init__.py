"""The foundation of all layers: records, errors, clock, files, processes.

The list of modules is fixed by a test, so that this package does not collect unrelated helpers. It
imports only the standard library and msgspec, and nothing about models, agents or screens.
"""

import logging

# The embedding program configures logging; by default nothing reaches a terminal.
logging.getLogger("pi").addHandler(logging.NullHandler())
