"""Shares logins between machines: a broker, and a source of credentials that uses it.

``protocol`` has the records that both sides exchange; ``store``, ``refresher`` and ``server`` are
the broker; ``configuration``, ``client`` and ``source`` are the side of a session; ``adapter`` has
the subcommands of ``pi auth-broker``.
"""
