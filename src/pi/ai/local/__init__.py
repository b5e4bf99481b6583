"""The embedded model: its engine and weights, and the server process that runs them.

Something real answers with no key and no network. Must not know how it is shown to a person:
progress is told through a callback.
"""
