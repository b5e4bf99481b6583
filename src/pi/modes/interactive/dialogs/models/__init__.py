"""Which model answers, how much it thinks, and which models are cycled through."""
