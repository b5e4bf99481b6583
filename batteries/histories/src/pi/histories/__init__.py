"""Transcripts of other agents as sessions: finds and stores them; a second import changes nothing.

``importing`` has the sources that the project file declares; the others are pure readers, one for
each agent.
"""
