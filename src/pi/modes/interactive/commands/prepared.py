"""Prompts that ``/init`` and ``/review`` stand for."""

INIT = """\
Draft an AGENTS.md for this project: the file that coding agents read before they work here.

1. Look at the project first: README, build and package files, CI configuration, the layout of the \
source and of the tests. If there is an AGENTS.md or a CLAUDE.md already, improve it instead of \
replacing it, and keep what its authors wrote on purpose.
2. Write only what an agent cannot guess: the commands to build, run, lint and test (also one test \
alone), the structure in a few lines, conventions that the code really follows, and traps.
3. Run a command before you recommend it, where that is safe and quick. Do not invent anything.
4. Keep it below about 100 lines, in plain Markdown, and show me what you have written."""

REVIEW = """\
Review the changes in this working copy, as a careful colleague would. Change no file.

1. Find out what has changed: `git status`, then the diff of staged and unstaged changes and new \
files. If there are none, review the last commit. If something else is named below, review that.
2. Read enough of the surrounding code to judge the changes.
3. Report what you found, the most serious first: bugs, lost data, security, behaviour that \
contradicts the documentation or the tests, missing tests; then what is hard to read. For each, \
name the file and the line, say what goes wrong and when, and propose a fix.
4. Leave out praise and matters of taste. If there is nothing to report, say so."""
