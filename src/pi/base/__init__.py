"""What everything stands on: values, errors, clock, files, processes.

Ten modules, and no more: this folder must not become a drawer. Knows nothing of models, agents
or screens; imports the standard library and msgspec.
"""

import logging

# What we log is for whoever configures logging; nothing reaches a terminal by itself.
logging.getLogger("pi").addHandler(logging.NullHandler())
