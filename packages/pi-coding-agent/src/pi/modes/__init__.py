"""The modes of a session: print, JSON lines, RPC, and interactive.

Each accesses the session only through ``SessionPort``; only the interactive mode uses a terminal.
"""
