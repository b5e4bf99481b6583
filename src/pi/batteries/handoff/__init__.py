"""Hand-off: the model writes a document about the conversation, and the work continues with it.

``adapter`` is the strategy and ``/handoff``; ``document`` holds the prompt and checks the answer,
purely.
"""
