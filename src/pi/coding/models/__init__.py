"""Model choice: patterns as typed by users, scopes to cycle through, the model at start.

Must not know how models are called.
"""
