"""Snapcompact: history as dense pictures of its text, for models that read them.

``history`` makes the text, ``shapes`` chooses the form of a picture for a model, ``font`` and
``frames`` print it, ``archive`` decides which pictures stay; all of them are pure. ``adapter`` has
the compaction strategy, and prints long tool results and the system prompt of a request.
"""
