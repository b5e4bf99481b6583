"""Web search with fourteen providers: the ``web_search`` tool and its automatic chain.

``search`` has the records and finds credentials; ``providers`` build requests and parse answers,
pure; ``adapter`` sends the requests, writes the text for the model, and registers the tool.
"""
