"""pi: a coding agent for the terminal.

Holds the version and nothing else: importing one layer must not load the others.
"""

__version__ = "0.1.0"
