"""OAuth 2.0 as a program without secrets speaks it: PKCE, loopback callback, device code.

Knows protocols, not vendors: endpoints and client ids come in as settings.
"""
