"""OAuth 2.0 for public clients: PKCE, loopback callback, device code.

Knows protocols, not vendors: endpoints and client ids come in as settings.
"""
