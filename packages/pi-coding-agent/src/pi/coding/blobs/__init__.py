"""Data too large for the lines of a session: images by hash, outputs by number.

Blobs are shared by all sessions; artifacts are files beside one session. Must not import sessions.
"""
