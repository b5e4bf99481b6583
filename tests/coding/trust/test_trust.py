"""Who decides, in which order, and what follows for the directories around."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pi.coding.bus import EventBus
from pi.coding.trust import (
    ProjectTrustEvent,
    Trust,
    TrustAnswer,
    TrustChoice,
    TrustDefault,
    TrustStore,
    decide_trust,
)
from pi.testing import FakeClock


class Desk:
    """A project with something to trust, and all that may decide."""

    def __init__(self, tmp_path: Path) -> None:
        self.cwd = tmp_path / "home" / "work" / "project"
        self.cwd.mkdir(parents=True)
        (self.cwd / "AGENTS.md").write_text("x")
        self.home = tmp_path / "home"
        self.store = TrustStore(tmp_path / "agent" / "trust.json", clock=FakeClock())
        self.bus = EventBus()

    async def decide(
        self,
        *,
        flag: bool | None = None,
        default: TrustDefault = "ask",
        choice: TrustChoice | None = None,
        answers: dict[str, bool] | None = None,
    ) -> Trust:
        async def ask(cwd: Path, gated: Sequence[Path]) -> TrustChoice | None:
            return choice

        return await decide_trust(
            self.cwd,
            self.store,
            home=self.home,
            bus=self.bus,
            flag=flag,
            default=default,
            ask=ask,
            answers=answers,
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.behaviour("trust-uses-canonical-paths")
async def test_without_an_answer_a_project_is_not_trusted(desk: Desk) -> None:
    trust = await desk.decide()

    assert (trust.trusted, trust.source, trust.trusts(desk.cwd)) == (False, "not asked", False)
    assert desk.store.decisions() == {}


async def test_a_project_that_brings_nothing_needs_no_decision(desk: Desk) -> None:
    (desk.cwd / "AGENTS.md").unlink()

    trust = await desk.decide()

    assert trust.source == "nothing to trust"


async def test_where_there_is_nothing_to_trust_nothing_may_be_read_either(desk: Desk) -> None:
    (desk.cwd / "AGENTS.md").unlink()
    trust = await desk.decide()
    (desk.cwd / "AGENTS.md").write_text("appeared after the decision")

    assert (trust.trusted, trust.trusts(desk.cwd)) == (False, False)
    assert (await desk.decide(default="always")).trusted


@pytest.mark.parametrize("flag", [True, False])
async def test_the_flag_beats_everything_and_speaks_for_all_directories(
    desk: Desk, flag: bool
) -> None:
    desk.store.decide({desk.cwd: not flag})
    trust = await desk.decide(flag=flag)

    assert (trust.trusted, trust.trusts(desk.home), trust.trusts(desk.cwd)) == (flag, flag, flag)


async def test_an_extension_is_asked_before_the_file_and_may_have_it_remembered(
    desk: Desk,
) -> None:
    desk.store.decide({desk.cwd: False})
    desk.bus.subscribe(ProjectTrustEvent, lambda question: TrustAnswer(trusted="undecided"))
    desk.bus.subscribe(
        ProjectTrustEvent, lambda question: TrustAnswer(trusted="yes", remember=True)
    )
    desk.bus.subscribe(ProjectTrustEvent, lambda question: TrustAnswer(trusted="no"))
    trust = await desk.decide()

    assert (trust.trusted, trust.source) == (True, "extension")
    assert desk.store.decisions() == {str(desk.cwd): True}


async def test_what_is_stored_about_a_directory_above_counts(desk: Desk) -> None:
    desk.store.decide({desk.cwd.parent: True})
    trust = await desk.decide()

    assert (trust.trusted, trust.source) == (True, "stored")
    assert [trust.trusts(path) for path in (desk.cwd, desk.cwd.parent, desk.home)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(("default", "trusted"), [("always", True), ("never", False)])
async def test_the_persons_default_saves_the_question(
    desk: Desk, default: TrustDefault, trusted: bool
) -> None:
    trust = await desk.decide(default=default)

    assert (trust.trusted, trust.source) == (trusted, "settings")


async def test_who_always_trusts_trusts_the_directories_above_too(desk: Desk) -> None:
    by_default = await desk.decide(default="always")
    desk.store.decide({desk.cwd: True, desk.home: False})
    decided_above = await desk.decide(default="always")
    desk.store.decide({desk.cwd: False, desk.home: None})
    decided_here = await desk.decide(default="always")

    assert by_default.trusts(desk.home)
    assert (decided_above.trusts(desk.cwd), decided_above.trusts(desk.home)) == (True, False)
    assert (decided_here.trusts(desk.cwd), decided_here.trusts(desk.home)) == (False, False)


async def test_trusting_for_this_session_is_not_stored(desk: Desk) -> None:
    trust = await desk.decide(choice=TrustChoice(trusted=True, directory=desk.cwd))

    assert (trust.trusted, trust.trusts(desk.cwd), trust.trusts(desk.home)) == (True, True, False)
    assert desk.store.decisions() == {}


async def test_trusting_the_folder_above_replaces_the_decision_about_this_one(desk: Desk) -> None:
    choice = TrustChoice(trusted=True, directory=desk.cwd.parent, remember=True)
    trust = await desk.decide(choice=choice)

    assert trust.trusts(desk.cwd)
    assert desk.store.decisions() == {str(desk.cwd.parent): True}


async def test_distrust_can_be_remembered(desk: Desk) -> None:
    trust = await desk.decide(choice=TrustChoice(trusted=False, directory=desk.cwd, remember=True))

    assert (trust.trusted, desk.store.decisions()) == (False, {str(desk.cwd): False})


async def test_an_answer_for_this_run_is_not_asked_for_again(desk: Desk) -> None:
    answers: dict[str, bool] = {}
    await desk.decide(choice=TrustChoice(trusted=True, directory=desk.cwd), answers=answers)
    again = await desk.decide(answers=answers)

    assert (again.trusted, again.source) == (True, "person")
    assert not (await desk.decide()).trusted  # another run


async def test_what_is_stored_later_takes_the_place_of_an_answer_for_this_run(desk: Desk) -> None:
    answers: dict[str, bool] = {}
    await desk.decide(choice=TrustChoice(trusted=False, directory=desk.cwd), answers=answers)
    desk.store.decide({desk.cwd.parent: True})
    trust = await desk.decide(answers=answers)

    assert (trust.trusted, trust.source, trust.trusts(desk.cwd)) == (True, "stored", True)


async def test_decisions_are_compared_by_what_they_allow_here_and_above(desk: Desk) -> None:
    first = await desk.decide()
    desk.store.decide({desk.home.parent / "unrelated": True})
    same = await desk.decide()
    desk.store.decide({desk.cwd.parent: True, desk.cwd: False})
    above = await desk.decide()

    assert first.allows_as_much_as(same, desk.cwd)
    assert not first.allows_as_much_as(above, desk.cwd)
    assert (above.within(desk.cwd).trusted, above.within(desk.cwd.parent).trusted) == (False, True)
