"""``ssh``: commands and files on hosts that the user has named.

``scripts`` has what runs on the host and the arguments of ssh, pure; ``connection`` keeps one
connection per host and runs scripts over it; ``adapter`` is the tool and ``ssh://``.
"""
