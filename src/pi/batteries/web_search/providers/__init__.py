"""The search providers, each as two pure functions: the requests, and the parser of the answer.

``result_lists`` have providers that list pages, ``model_answers`` those whose model searches and
answers, ``remote_tools`` those behind JSON-RPC. ``table`` has them in the order of the chain.
"""
