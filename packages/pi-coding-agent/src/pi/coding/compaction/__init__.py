"""Compaction of a session: when it is due, how it runs, and its events.

The pure part is ``pi.agent.compaction``. All decisions are stored as new entries of the log; no
existing byte changes. Must not import modes; models are called through the session.
"""
