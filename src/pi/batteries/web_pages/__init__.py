"""``read`` for ``http://`` and ``https://`` addresses: pages as Markdown, PDFs, pictures, GitHub.

``github`` knows the forms of GitHub's addresses and writes its answers as text, pure; ``contents``
turns a response into text by its type; ``adapter`` fetches, caches and connects it to pi.
"""
