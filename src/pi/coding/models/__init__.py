"""Which model: patterns as people type them, scopes to cycle through, and the choice at start.

Must not know how models are reached.
"""
