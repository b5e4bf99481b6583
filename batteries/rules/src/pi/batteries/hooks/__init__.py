"""Hooks of Claude Code and pi: programs that observe, change or block actions of the agent.

``definitions`` parses settings files and hook folders and finds the files that hooks run,
``outcomes`` parses their answers, ``execution`` runs one hook with its payload, ``session_hooks``
runs all hooks of an event, and ``adapter`` connects them to a session.
"""
