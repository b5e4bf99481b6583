"""Packages: skills, prompt templates, themes and extensions that others have made.

Where they come from, where they lie, what of them is used. Reads what a package declares and never
runs it; must not know what an extension does.
"""
