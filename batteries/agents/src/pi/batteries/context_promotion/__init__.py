"""Context promotion: switches to a model with a larger window instead of compacting."""
