"""What MCP servers cost."""
