"""A client of the Model Context Protocol: servers provide tools, resources and prompts.

``protocol`` and ``content`` translate and are pure. ``client`` exchanges messages over a transport:
the pipes of a program (``transport``) or ``http``. ``definitions`` reads configuration files.
``server`` keeps one connection, which all sessions of the process share; ``adapter`` connects a
session.
"""
