"""Permissions: decides whether a tool call runs, needs consent, or is refused.

``rules`` parses rules in the syntax of Claude Code; ``commands`` and ``paths`` match them;
``decisions`` combines rules and mode; ``questions`` has the text of dialogs; ``adapter`` guards the
tool calls of a session.
"""
