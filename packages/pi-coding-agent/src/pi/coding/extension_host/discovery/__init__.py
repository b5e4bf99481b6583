"""Finds extensions and reads their manifests, without importing them."""
