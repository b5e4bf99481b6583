"""Hooks of Claude Code and pi: programs that see, change or block what the agent does.

``definitions`` reads them from settings files and folders, ``payloads`` writes what they get,
``outcomes`` reads what they answer: all pure. ``scripts`` finds the files that a command runs,
``execution`` runs one hook, ``session_hooks`` those of an event, ``policy`` and ``adapter`` connect
them to a session.
"""
