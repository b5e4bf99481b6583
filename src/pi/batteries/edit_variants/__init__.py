"""Other forms of the ``edit`` tool: unified diffs, the patch format of Codex, and line hashes.

The engine of ``edit`` is part of pi; here are front ends that locate what it replaces. ``lines``
turns changes of lines into replacements. ``hunks`` finds hunks in a text; ``unified`` and ``codex``
parse patches into them. ``hashlines`` numbers lines with hashes and checks them. These are pure.
``adapter`` has the tools, and ``views`` draws them.
"""
