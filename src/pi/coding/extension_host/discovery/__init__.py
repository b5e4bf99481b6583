"""Finds extensions without running them: files, entry points, manifests."""
