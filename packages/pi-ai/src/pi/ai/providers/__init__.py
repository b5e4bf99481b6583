"""Providers: data rows for the built-in ones, and the few that need code.

Independent of the wires: each model names its own.
"""
