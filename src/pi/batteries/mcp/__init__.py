"""A client of the Model Context Protocol: servers of the user as tools, resources and prompts.

``protocol`` and ``content`` are pure translation. ``client`` exchanges messages over a transport:
the pipes of a program (``transport``) or ``http``. ``definitions`` reads configuration files.
``server`` keeps one connection, which all sessions of the process share; ``adapter`` connects a
session.
"""
