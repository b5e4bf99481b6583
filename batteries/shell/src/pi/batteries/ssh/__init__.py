"""``ssh``: commands and files on hosts that the user has named.

``scripts`` has the scripts for the host and the arguments of ssh, pure; ``connection`` keeps one
connection per host and runs scripts over it; ``adapter`` has the tool and the scheme ``ssh://``.
"""
