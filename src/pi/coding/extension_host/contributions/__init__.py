"""What extensions register: tools, commands, views, providers, wraps."""
