"""The extended ``bash`` tool: one shell for the whole session, and more parameters.

``command_lines`` cleans up and rejects commands, ``minimiser`` condenses output; both are pure.
``session`` runs the shell, ``snapshot`` reads the user's aliases and functions, ``terminals`` runs
programs in a terminal, ``adapter`` connects all of them to the tool, and ``views`` draws.
"""
