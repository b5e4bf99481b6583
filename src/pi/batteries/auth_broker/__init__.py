"""Logins of several machines in one place: a broker, and the source that asks it.

``protocol`` and ``accounts`` are pure; ``store``, ``refresher`` and ``server`` are the broker;
``client`` and ``source`` are its clients; ``commands`` are the words of
``pi auth-broker``.
"""
