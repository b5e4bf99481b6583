"""Language servers: diagnostics and formatting after each write, and the ``lsp`` tool.

Off by default; the setting ``lsp.enabled``, ``--tools`` with ``lsp``, or ``/lsp`` loads it. Unless
``lsp.lazy`` is off, a server is started when a file of its kind is first written or queried.
"""
