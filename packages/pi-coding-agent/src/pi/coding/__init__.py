"""The coding agent without a screen: sessions, tools, settings, trust, resources, runtime."""
