"""Live sharing of a session: a host, guests, and frames that the relay cannot read."""
