"""Image generation: one API over the formats of the providers.

Parallel to chat: a collection of models, a request, a result that carries its failure. Does not
know agents or tools.
"""
