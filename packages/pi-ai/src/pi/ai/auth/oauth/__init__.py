"""OAuth 2.0 for public clients: PKCE, loopback callback, device code.

Independent of vendors: endpoints and client ids are passed in as settings.
"""
