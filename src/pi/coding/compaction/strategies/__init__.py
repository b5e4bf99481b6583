"""Ways to make a conversation shorter; extensions add their own."""
