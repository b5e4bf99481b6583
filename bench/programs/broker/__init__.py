"""The auth broker and the gateway."""
