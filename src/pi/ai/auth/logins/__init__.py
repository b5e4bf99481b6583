"""The vendors one can log in to, one module each; see ``pi.ai.auth.login`` for what it holds.

Endpoints and client ids are rows of ``pi.ai.auth.clients``; a login is loaded when it is used.
"""
