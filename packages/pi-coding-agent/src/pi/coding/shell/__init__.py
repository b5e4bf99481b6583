"""Running commands: the user's shell, its environment, its output, and how it is terminated.

Does not import tools, models or sessions: callers pass working directory, environment and timeout.
"""
