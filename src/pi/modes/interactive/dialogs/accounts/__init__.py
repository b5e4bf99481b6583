"""Logging in and out on the screen."""
