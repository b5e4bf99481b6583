"""``ast_grep`` and ``ast_edit``: search and replace by syntax trees.

``parser`` asks a child process (``parser_process``), because the parser of a language may crash or
hang. ``sources`` lists the files of a call. ``adapter`` has the tools, and ``views`` draws them.
"""
