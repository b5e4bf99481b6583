"""The session protocol for modes and extensions: protocols and records, no implementation."""
