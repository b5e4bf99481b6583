"""Permissions: decides whether a tool call runs, needs consent, or is refused.

``rules`` parses rules in the syntax of Claude Code. ``paths`` names the files of a call, and
``patterns`` compares them with rules; ``commands`` and its neighbours do the same for command
lines. ``decisions`` combines rules and mode, ``questions`` has the text of dialogs, ``adapter``
guards the tool calls of a session, and ``actual_files`` checks every file when it is used.
"""
