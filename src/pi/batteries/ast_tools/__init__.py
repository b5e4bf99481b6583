"""``ast_grep`` and ``ast_edit``: search and replace by syntax trees.

``adapter`` has the tools. A child process (``parser_process``) parses for them, because the parser
of a language may crash or hang. ``views`` draws the calls.
"""
