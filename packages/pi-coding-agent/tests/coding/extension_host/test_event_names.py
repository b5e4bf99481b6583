from __future__ import annotations

from pi.coding.extension_host.events.handlers import ALIASES, EVENTS, NAMES

COMPAT = """
    project_trust resources_discover session_start session_info_changed session_before_switch
    session_before_fork session_before_compact session_compact session_compact_failed
    session_before_tree session_tree session_shutdown input before_agent_start agent_start agent_end
    turn_start turn_end agent_before_settle agent_settled context context_with_system
    before_provider_headers before_provider_request after_provider_response cache_warming_decision
    message_start message_update message_end tool_execution_start tool_execution_update
    tool_execution_end tool_call tool_result model_select thinking_level_select user_bash
    ui_prompt_start ui_prompt_end
"""
"""Every event of the original."""
OURS = """
    session_switch session_fork session_compacting terminal_opened user_command_start
    user_command_end context_full session_abort
"""


def test_every_event_of_the_original_has_a_name_here() -> None:
    assert sorted(EVENTS) == sorted(f"{COMPAT} {OURS}".split())
    assert ALIASES == {
        "session_branch": "session_fork",
        "session.compacting": "session_compacting",
    }


def test_every_event_type_has_exactly_one_name() -> None:
    assert {NAMES[kind] for kind in EVENTS.values()} == set(EVENTS)
    assert all(kind.__doc__ for kind in EVENTS.values())
