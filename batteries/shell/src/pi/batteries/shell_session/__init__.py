"""The extended ``bash`` tool: one shell for the whole session, and more parameters.

``command_lines`` cleans up and rejects commands, and condenses their output; it is pure.
``session`` is the shell, ``runner`` runs commands in it, ``adapter`` wraps the tool, and ``views``
runs and draws programs in a terminal.
"""
