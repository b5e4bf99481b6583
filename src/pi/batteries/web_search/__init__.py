"""Web search with fourteen providers: the ``web_search`` tool and its automatic chain.

``search`` has the values and the text for the model; ``providers`` build requests and parse
answers, pure; ``accounts`` finds credentials; ``adapter`` sends and connects it to pi.
"""
