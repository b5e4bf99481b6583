"""Puts files and conversation back to an earlier point, without git.

``adapter`` connects the battery to a session, ``recorder`` follows what tools and commands change,
and ``history`` saves and restores files. The other modules are parts of ``history``.
"""
