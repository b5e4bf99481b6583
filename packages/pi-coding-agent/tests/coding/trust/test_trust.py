"""The order of trust decisions, and their effect on the directories above."""

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


class TrustFixture:
    """A project with a resource that needs trust, and everything that may decide about it."""

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
def kit(tmp_path: Path) -> TrustFixture:
    return TrustFixture(tmp_path)


@pytest.mark.behaviour("trust-uses-canonical-paths")
async def test_without_an_answer_a_project_is_not_trusted(kit: TrustFixture) -> None:
    trust = await kit.decide()

    assert (trust.trusted, trust.source, trust.trusts(kit.cwd)) == (False, "not asked", False)
    assert kit.store.decisions() == {}


async def test_a_project_that_brings_nothing_needs_no_decision(kit: TrustFixture) -> None:
    (kit.cwd / "AGENTS.md").unlink()

    trust = await kit.decide()

    assert trust.source == "nothing to trust"


async def test_a_file_that_appears_after_the_decision_is_not_trusted(
    kit: TrustFixture,
) -> None:
    (kit.cwd / "AGENTS.md").unlink()
    trust = await kit.decide()
    (kit.cwd / "AGENTS.md").write_text("appeared after the decision")

    assert (trust.trusted, trust.trusts(kit.cwd)) == (False, False)
    assert (await kit.decide(default="always")).trusted


@pytest.mark.parametrize("flag", [True, False])
async def test_the_flag_overrides_stored_decisions_for_all_directories(
    kit: TrustFixture, flag: bool
) -> None:
    kit.store.decide({kit.cwd: not flag})
    trust = await kit.decide(flag=flag)

    assert (trust.trusted, trust.trusts(kit.home), trust.trusts(kit.cwd)) == (flag, flag, flag)


async def test_an_extension_decides_before_the_file_and_may_store_its_answer(
    kit: TrustFixture,
) -> None:
    kit.store.decide({kit.cwd: False})
    kit.bus.subscribe(ProjectTrustEvent, lambda question: TrustAnswer(trusted="undecided"))
    kit.bus.subscribe(ProjectTrustEvent, lambda question: TrustAnswer(trusted="yes", remember=True))
    kit.bus.subscribe(ProjectTrustEvent, lambda question: TrustAnswer(trusted="no"))
    trust = await kit.decide()

    assert (trust.trusted, trust.source) == (True, "extension")
    assert kit.store.decisions() == {str(kit.cwd): True}


async def test_a_stored_decision_about_a_parent_directory_applies(kit: TrustFixture) -> None:
    kit.store.decide({kit.cwd.parent: True})
    trust = await kit.decide()

    assert (trust.trusted, trust.source) == (True, "stored")
    assert [trust.trusts(path) for path in (kit.cwd, kit.cwd.parent, kit.home)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(("default", "trusted"), [("always", True), ("never", False)])
async def test_the_default_of_the_user_replaces_the_prompt(
    kit: TrustFixture, default: TrustDefault, trusted: bool
) -> None:
    trust = await kit.decide(default=default)

    assert (trust.trusted, trust.source) == (trusted, "settings")


async def test_trusting_always_includes_parent_directories(kit: TrustFixture) -> None:
    by_default = await kit.decide(default="always")
    kit.store.decide({kit.cwd: True, kit.home: False})
    decided_above = await kit.decide(default="always")
    kit.store.decide({kit.cwd: False, kit.home: None})
    decided_here = await kit.decide(default="always")

    assert by_default.trusts(kit.home)
    assert (decided_above.trusts(kit.cwd), decided_above.trusts(kit.home)) == (True, False)
    assert (decided_here.trusts(kit.cwd), decided_here.trusts(kit.home)) == (False, False)


async def test_trusting_for_this_session_is_not_stored(kit: TrustFixture) -> None:
    trust = await kit.decide(choice=TrustChoice(trusted=True, directory=kit.cwd))

    assert (trust.trusted, trust.trusts(kit.cwd), trust.trusts(kit.home)) == (True, True, False)
    assert kit.store.decisions() == {}


async def test_trusting_the_folder_above_replaces_the_decision_about_this_one(
    kit: TrustFixture,
) -> None:
    choice = TrustChoice(trusted=True, directory=kit.cwd.parent, remember=True)
    trust = await kit.decide(choice=choice)

    assert trust.trusts(kit.cwd)
    assert kit.store.decisions() == {str(kit.cwd.parent): True}


async def test_distrust_can_be_remembered(kit: TrustFixture) -> None:
    trust = await kit.decide(choice=TrustChoice(trusted=False, directory=kit.cwd, remember=True))

    assert (trust.trusted, kit.store.decisions()) == (False, {str(kit.cwd): False})


async def test_an_answer_for_this_run_is_reused(kit: TrustFixture) -> None:
    answers: dict[str, bool] = {}
    await kit.decide(choice=TrustChoice(trusted=True, directory=kit.cwd), answers=answers)
    again = await kit.decide(answers=answers)

    assert (again.trusted, again.source) == (True, "person")
    assert not (await kit.decide()).trusted  # another run


async def test_a_later_stored_decision_overrides_an_answer_for_this_run(
    kit: TrustFixture,
) -> None:
    answers: dict[str, bool] = {}
    await kit.decide(choice=TrustChoice(trusted=False, directory=kit.cwd), answers=answers)
    kit.store.decide({kit.cwd.parent: True})
    trust = await kit.decide(answers=answers)

    assert (trust.trusted, trust.source, trust.trusts(kit.cwd)) == (True, "stored", True)


async def test_decisions_are_compared_by_what_they_allow_here_and_above(kit: TrustFixture) -> None:
    first = await kit.decide()
    kit.store.decide({kit.home.parent / "unrelated": True})
    same = await kit.decide()
    kit.store.decide({kit.cwd.parent: True, kit.cwd: False})
    above = await kit.decide()

    assert first.allows_as_much_as(same, kit.cwd)
    assert not first.allows_as_much_as(above, kit.cwd)
    assert (above.within(kit.cwd).trusted, above.within(kit.cwd.parent).trusted) == (False, True)
