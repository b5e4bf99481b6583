"""Slash commands: the table and the functions that run them.

A command uses dialogs, acts through the session's port and reports through ``Ui``.
"""
