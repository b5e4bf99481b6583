"""Puts files and conversation back to an earlier point, without git.

``adapter`` registers hooks and commands, ``recorder`` captures the changes of tools and commands,
``history`` saves files, ``restoring`` puts them back, and ``commands`` has ``/rewind``, ``/redo``
and ``pi rewind``.
"""
