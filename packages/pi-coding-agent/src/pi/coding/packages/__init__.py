"""Packages: skills, prompt templates, themes and extensions from npm, git, PyPI or a folder.

Finds, installs and removes packages. Their code is never run here.
"""
