"""The embedded model: its engine and weights, and the server process that runs them.

It works with no key and no network. Independent of the user interface: progress is reported through
a callback.
"""
