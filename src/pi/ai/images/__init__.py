"""Make pictures: one API over the shapes that providers have for it.

Parallel to chat: models with an owner, a request, a result that carries its failure. Must not
know agents or tools.
"""
