"""Secrets: values that no provider receives.

``sources`` finds secrets in the environment and in ``secrets.yml``, ``shapes`` knows what keys look
like, ``vault`` replaces values by placeholders and back, ``requests`` applies that to requests and
answers, ``images`` cleans metadata of pictures, and ``adapter`` connects it to a session.
"""
