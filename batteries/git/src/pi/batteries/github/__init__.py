"""``gh``: issues, pull requests, checks and workflow runs of GitHub.

``repositories`` finds the repository and the credentials, ``client`` sends requests with a token or
through the ``gh`` program, ``texts`` turns answers into text,
``operations`` has one function for each action, and ``adapter`` is the tool with its questions.
"""
