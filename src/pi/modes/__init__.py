"""The faces of a session: print, JSON lines, RPC, and the screen.

Each reaches the session through ``SessionPort`` only; none but the screen knows a terminal.
"""
