"""The rulebook: rules of the user, the project and other agents, in the prompt and on demand.

``adapter`` sorts the rules into buckets, writes the prompt sections, and sends rules with globs
when a matching file is read or written.
"""
