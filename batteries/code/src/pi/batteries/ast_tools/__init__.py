"""``ast_grep`` and ``ast_edit``: search and replace by syntax trees.

``adapter`` has the tools. They parse in a child process (``parser_process``), because the parser of
a language may crash or hang. ``views`` draws the calls.
"""
