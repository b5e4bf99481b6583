"""The rulebook: rules of the user, the project and other agents, in the prompt and on demand.

``buckets`` sorts rules and writes the prompt sections, purely; ``enforcing`` sends rules with globs
when a matching file is touched; ``adapter`` connects both to a session.
"""
