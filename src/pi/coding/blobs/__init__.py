"""What is too large for the lines of a session: pictures by their content, outputs by a number.

Blobs are shared by all sessions; artifacts are files beside one session. Must not know sessions.
"""
