"""Session titles: a small model names a session after its first message.

``adapter`` has the prompt, cleans up the answer, and connects both to a session.
"""
