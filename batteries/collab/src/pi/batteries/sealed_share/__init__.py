"""Encrypted shares of sessions, which a relay stores and a browser opens."""
