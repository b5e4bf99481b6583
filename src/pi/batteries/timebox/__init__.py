"""Timebox: a budget of time, turns, tokens or money for a session.

``core`` knows no host and is pure; ``adapters`` tells it what happens and does what it says, for
pi and for Claude Code.
"""
