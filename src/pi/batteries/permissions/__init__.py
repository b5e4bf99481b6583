"""Permissions: which tool calls run, ask, or are refused.

``rules`` reads rules in the syntax of Claude Code, ``commands`` and ``paths`` match them, purely;
``decisions`` combines rules and mode; ``questions`` writes what the user sees; ``adapter`` guards
the tool calls of a session.
"""
