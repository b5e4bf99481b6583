"""Hand-off: the model writes a document about the conversation, and the work continues with it.

``adapter`` has the compaction strategy, ``/handoff``, the prompt and the check of the answer.
"""
