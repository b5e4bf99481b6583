"""Resources on disk: context files, skills, prompt templates and rules, and their sources.

Files of a project are read only if it is trusted. Does not import sessions or models.
"""
