"""What modes and extensions may ask of a session: protocols and records, no implementation."""
