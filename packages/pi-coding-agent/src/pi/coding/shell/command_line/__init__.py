"""Parses ``bash`` command lines: which programs run, with which arguments, files and variables.

``parse_command`` in ``resolve`` is the entry point. ``words`` reads words, ``grammar`` commands,
``resolve`` the commands inside other commands (``env``, ``xargs``, ``find -exec``, ``sh -c``).
Pure: nothing is executed and nothing is read from disk.
"""
