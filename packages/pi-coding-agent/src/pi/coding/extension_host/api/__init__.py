"""The objects that an extension works with."""
