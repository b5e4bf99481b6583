"""Logins by vendor, one module each, imported on first use; see ``pi.ai.auth.login``.

Endpoints and client ids are in ``pi.ai.auth.login_settings``.
"""
