"""Running commands: the person's shell, its environment, what it writes and how it is ended.

Knows nothing of tools, models and sessions: callers pass in where, with what and for how long.
"""
