"""Providers: data rows for the built-in ones, and the few that need code.

Does not know how a wire encodes; each model names its wire.
"""
