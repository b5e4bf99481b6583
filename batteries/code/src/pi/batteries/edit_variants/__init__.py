"""Other forms of the ``edit`` tool: unified diffs, the patch format of Codex, and line hashes.

The engine of ``edit`` is part of pi; these front ends locate the text to replace. ``lines``
turns changes of lines into replacements, and finds lines by their hashes. ``patches`` parses
patches into hunks, and ``hunks`` finds them in a text. These are pure. ``adapter`` has the tools,
and ``views`` draws them.
"""
