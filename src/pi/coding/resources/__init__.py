"""What lies around for the agent: context files, skills, prompt templates, by where they are found.

A project's own are looked at only where trust allows it. Must not know sessions or models.
"""
