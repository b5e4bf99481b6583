"""Hooks of Claude Code and pi: programs that see, change or block what the agent does.

``definitions`` reads them from settings files and folders and finds the files that they name,
``outcomes`` reads what they answer, ``execution`` runs one hook with its payload, ``session_hooks``
those of an event, and ``adapter`` connects them to a session.
"""
