"""Who serves models: data rows for the built-in providers, and the few that are programs.

Must not know how a wire encodes; a provider names its wires by the models it has.
"""
