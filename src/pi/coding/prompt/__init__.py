"""The system prompt: named sections in our own words. The same state gives the same bytes."""
