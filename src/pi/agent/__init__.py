"""Ask, run tools, ask again: the loop, and what hangs on it.

Usable alone with any function that streams an answer. Must not know files, shells, sessions on
disk, settings or screens, and never the HTTP client.
"""
