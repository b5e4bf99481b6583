"""The transcript: blocks that grow, become final and then stay.

Does not import the composer or the status; handles the session's events.
"""
