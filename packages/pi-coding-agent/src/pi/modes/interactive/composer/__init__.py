"""The composer: the editor, queued messages, and their keys.

Does not import the transcript or the status.
"""
