"""Timebox: a budget of time, turns, tokens or money for a session.

``core`` is pure and does not depend on pi. ``adapters`` pass it the events of pi or Claude Code,
and carry out the effects it returns.
"""
