"""What a call of the bash tool costs, with and without the shell session."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

CALLS = 200

SESSION = Scenario(
    name="bash-session",
    about="a call of `true` in the shell session; the floor is the plain bash tool",
    measured=Command(words=python("shell.bash_calls", "session", CALLS)),
    floor=Command(words=python("shell.bash_calls", "plain", CALLS)),
    metrics=(
        figure(0, "wall per call", "ms", Target(at_most=8)),
        figure(1, "cpu of pi per call", "ms"),
        figure(2, "memory of the shell", "MB"),
    ),
)

PLAIN = Scenario(
    name="bash-plain",
    about="a call of `true` with the plain bash tool; the floor is the shell session",
    measured=Command(words=python("shell.bash_calls", "plain", CALLS)),
    floor=Command(words=python("shell.bash_calls", "session", CALLS)),
    metrics=(
        figure(0, "wall per call", "ms", Target(at_most=8)),
        figure(1, "cpu of pi per call", "ms"),
    ),
)

SCENARIOS = (SESSION, PLAIN)
