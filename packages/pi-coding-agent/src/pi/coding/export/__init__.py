"""Exports a session as a web page, Markdown, plain text or JSONL, and shares it.

Does not import screens or commands, and never changes a session.
"""
