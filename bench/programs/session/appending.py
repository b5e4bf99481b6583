"""Appends 1,000 messages to a session that has some: ``appending ENTRIES``.

Prints the CPU time in ms; what the model is shown is asked for after each.
"""

import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from bench.programs.session.sample import make_session, messages
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.opening import SessionLocation, open_session


def main(entries: int) -> None:
    """Append to one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = make_session(Path(folder), entries)
        conversation = SessionConversation(
            open_session(path, SessionLocation(None, "/somewhere", print))
        )
        conversation.messages()
        new = list(islice(messages(), 1000))
        begun = time.process_time()
        for message in new:
            conversation.append(message)
            conversation.messages()
        print((time.process_time() - begun) * 1e3)
        conversation.log.close()


main(int(sys.argv[1]))
