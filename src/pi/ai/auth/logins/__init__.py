"""The vendors one can log in to, one module each; see ``pi.ai.auth.login`` for what it holds.

Endpoints and client ids are in ``pi.ai.auth.login_settings``; a login is imported on first use.
"""
