"""A session as a web page and as Markdown, made from its file. Runs offline."""

from pathlib import Path

from pi.ai.messages import AssistantMessage, Text, UserMessage
from pi.coding.export.files import export_file
from pi.coding.session.entries import MessageEntry
from pi.coding.session.opening import Shelf, new_session

here = Path.cwd()
session = new_session(Shelf(here / "sessions", str(here), print))
session.append(MessageEntry(message=UserMessage(content="My key is sk-0123456789abcdefgh.")))
session.append(MessageEntry(message=AssistantMessage(content=(Text(text="Keep it *secret*."),))))
session.close()

assert session.file is not None
page = export_file(session.file, cwd=here)
words = export_file(session.file, Path("session.md"), cwd=here)
print(f"Exported to: {page.name}\n\n{words.read_text(encoding='utf-8').split('## ', 1)[1]}")
