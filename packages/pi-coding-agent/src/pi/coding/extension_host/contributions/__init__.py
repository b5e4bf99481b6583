"""Contributions of extensions: tools, commands, views, providers, wraps."""
