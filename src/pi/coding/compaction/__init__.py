"""Compaction of a session: when it is due, how it is done, and what is told of it.

The pure part lives in ``pi.agent.compaction``. Everything that is decided here is stored as new
entries of the log; no existing byte changes. Must not know modes or how models are reached.
"""
