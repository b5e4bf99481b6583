"""Image generation: one API over the formats of the providers.

Works like chat: a collection of models, a request, a result that carries its failure. Independent
of agents and tools.
"""
