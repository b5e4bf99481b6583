"""Batches: runs a list of tasks, each in a session of its own, and records every result.

The driver (``driver.py``) passes tasks from a queue to an engine: this process, a pool of worker
processes, or Ray actors. A result is appended to ``results.jsonl`` and flushed to the disk before
the task counts as run, so that a batch can be killed at any moment and resumed.
"""
