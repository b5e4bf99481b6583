"""Language servers: diagnostics and formatting after each write, and the ``lsp`` tool.

Off by default; the setting ``lsp.enabled``, ``--tools`` with ``lsp``, or ``/lsp`` loads it. No
server is started before a file of its kind is written or queried.
"""
