"""``read`` for ``http://`` and ``https://`` addresses: pages as Markdown, PDFs, pictures, GitHub.

``contents`` converts a response to text by its type; ``adapter`` fetches and caches pages, uses
GitHub's API for its addresses, and connects it to pi.
"""
