"""Every event by the name that extensions use."""

from __future__ import annotations

from pi.coding.extension_host import run_events as run
from pi.coding.extension_host import session_events as session

EVENTS: dict[str, type] = {
    "project_trust": session.ProjectTrustEvent,
    "resources_discover": session.ResourcesDiscoverEvent,
    "session_start": session.SessionStartEvent,
    "session_shutdown": session.SessionShutdownEvent,
    "session_info_changed": session.SessionInfoChangedEvent,
    "session_before_switch": session.SessionBeforeSwitchEvent,
    "session_switch": session.SessionSwitchEvent,
    "session_before_fork": session.SessionBeforeForkEvent,
    "session_fork": session.SessionForkEvent,
    "session_before_compact": session.SessionBeforeCompactEvent,
    "session_compacting": session.SessionCompactingEvent,
    "session_compact": session.SessionCompactEvent,
    "session_compact_failed": session.SessionCompactFailedEvent,
    "session_before_tree": session.SessionBeforeTreeEvent,
    "session_tree": session.SessionTreeEvent,
    "user_bash": session.UserBashEvent,
    "ui_prompt_start": session.UiPromptStartEvent,
    "ui_prompt_end": session.UiPromptEndEvent,
    "cache_warming_decision": session.CacheWarmingDecisionEvent,
    "input": run.InputEvent,
    "before_agent_start": run.BeforeAgentStartEvent,
    "agent_start": run.AgentStartEvent,
    "agent_end": run.AgentEndEvent,
    "agent_before_settle": run.AgentBeforeSettleEvent,
    "agent_settled": run.AgentSettledEvent,
    "turn_start": run.TurnStartEvent,
    "turn_end": run.TurnEndEvent,
    "context": run.ContextEvent,
    "context_with_system": run.ContextWithSystemEvent,
    "before_provider_headers": run.BeforeProviderHeadersEvent,
    "before_provider_request": run.BeforeProviderRequestEvent,
    "after_provider_response": run.AfterProviderResponseEvent,
    "message_start": run.MessageStartEvent,
    "message_update": run.MessageUpdateEvent,
    "message_end": run.MessageEndEvent,
    "tool_execution_start": run.ToolExecutionStartEvent,
    "tool_execution_update": run.ToolExecutionUpdateEvent,
    "tool_execution_end": run.ToolExecutionEndEvent,
    "tool_call": run.ToolCallEvent,
    "tool_result": run.ToolResultEvent,
    "model_select": run.ModelSelectEvent,
    "thinking_level_select": run.ThinkingLevelSelectEvent,
}

ALIASES = {"session_branch": "session_fork", "session.compacting": "session_compacting"}
"""Other names of the same events."""

NAMES: dict[type, str] = {kind: name for name, kind in EVENTS.items()}
"""The name of each kind of event."""
