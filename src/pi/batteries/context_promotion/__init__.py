"""Context promotion: a model with a larger window takes over before a compaction."""
