"""What everything stands on: values, errors, clock, files, processes.

Ten modules, and no more: this folder must not become a drawer. Knows nothing of models, agents
or screens; imports the standard library and msgspec.
"""
