"""Session titles: a small model names a session after its first message.

``adapter`` connects it to a session; ``naming`` holds the prompt and cleans up the answer, purely.
"""
