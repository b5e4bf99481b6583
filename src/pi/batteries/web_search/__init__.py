"""Web search with fourteen providers: the ``web_search`` tool and its automatic chain.

``search`` has the values and finds credentials; ``providers`` build requests and parse answers,
pure; ``adapter`` sends, writes the text for the model, and connects it to pi.
"""
