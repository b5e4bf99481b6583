"""Model choice: patterns as typed by users, scopes to cycle through, the model at start.

Calls no model.
"""
