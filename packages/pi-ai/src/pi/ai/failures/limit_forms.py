"""The forms in which providers report a limit, most specific first. Data.

A form is recognised by a code or by wording; its class has priority over the general rules of
``classify``. Providers change these forms: ``tests/ai/limits/`` has bodies for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from pi.ai.errors import (
    BILLING_CYCLE,
    CONCURRENCY,
    CREDITS,
    DAY,
    FIVE_HOURS,
    MINUTE,
    MONTH,
    SEVEN_DAYS,
    ContextOverflow,
    LimitScope,
    ProviderError,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.failures.details import plain_code
from pi.base.records import Record

ResetRule: TypeAlias = Literal["", "month", "pacific_day", "never"]
"""When the limit ends although the answer does not say it: on the first of the next month in UTC,
at midnight in California, or only after a change of the plan or a payment."""


class LimitForm(Record):
    """One form of a limit."""

    source: str
    kind: type[ProviderError] | None = None
    """``None``: as the general rules say."""
    scope: LimitScope = "account"
    window: str = ""
    codes: str = ""
    wording: str = ""
    """A pattern; if there are codes too, one of both is enough."""
    statuses: tuple[int, ...] = ()
    """Empty: any."""
    reset: ResetRule = ""
    paid: str = ""


# Patterns are compiled by the first failure, not at import.
FORMS: tuple[LimitForm, ...] = (
    # Waiting never helps here, and a shorter conversation does.
    LimitForm(
        source="Claude plan, long context",
        kind=ContextOverflow,
        wording=r"(?:extra|additional) usage is required for long context",
    ),
    LimitForm(
        source="Anthropic, spend cap",
        kind=QuotaExhausted,
        window=MONTH,
        codes="enforced_spend_limit_reached",
        reset="month",
    ),
    LimitForm(
        source="Anthropic, own spend limit",
        kind=QuotaExhausted,
        window=MONTH,
        wording=r"specified API usage limits",
        reset="month",
    ),
    LimitForm(
        source="Anthropic, OpenAI: no credits",
        kind=QuotaExhausted,
        window=CREDITS,
        codes="credits_required credit_balance_exhausted insufficient_quota insufficient_balance "
        "insufficient_credits 1113",
        wording=r"credit balance is too low|would exceed your available credits",
        reset="never",
    ),
    LimitForm(
        source="OpenAI, spend limits",
        kind=QuotaExhausted,
        window=MONTH,
        codes="organization_spend_limit_exceeded organization_usage_limit_exceeded",
    ),
    LimitForm(
        source="OpenAI, spend limit of a project",
        kind=QuotaExhausted,
        scope="key",
        window=MONTH,
        codes="project_spend_limit_exceeded",
    ),
    LimitForm(source="ChatGPT plan", kind=QuotaExhausted, codes="usage_limit_reached"),
    LimitForm(
        source="ChatGPT plan without this",
        kind=QuotaExhausted,
        codes="usage_not_included",
        reset="never",
    ),
    LimitForm(
        source="Gemini, a model that the tier does not have",
        kind=QuotaExhausted,
        scope="model",
        wording=r"quota exceeded for metric[^\n]*\blimit: 0\b",
        reset="never",
    ),
    LimitForm(
        source="Gemini, per day",
        kind=QuotaExhausted,
        scope="model",
        window=DAY,
        wording=r"\b\w+PerDay",
        reset="pacific_day",
    ),
    LimitForm(source="Gemini, per minute", scope="model", window=MINUTE, wording=r"\w+PerMinute"),
    LimitForm(
        source="Copilot, per week",
        kind=RateLimited,
        window=SEVEN_DAYS,
        codes="user_weekly_rate_limited",
    ),
    LimitForm(
        source="Copilot, premium requests",
        kind=QuotaExhausted,
        window=MONTH,
        codes="quota_exceeded",
        statuses=(402,),
        reset="month",
    ),
    LimitForm(
        source="OpenRouter, free models",
        kind=RateLimited,
        window=DAY,
        wording=r"free-models-per-day",
    ),
    LimitForm(
        source="OpenRouter, free models per minute", window=MINUTE, wording=r"free-models-per-min"
    ),
    LimitForm(
        source="OpenRouter, limit of the key",
        kind=QuotaExhausted,
        scope="key",
        wording=r"openrouter_key_limit|\bkey limit exceeded",
        reset="",
    ),
    LimitForm(
        source="OpenRouter, credits",
        kind=QuotaExhausted,
        window=CREDITS,
        wording=r"openrouter_credits",
        reset="never",
    ),
    LimitForm(
        source="Bedrock, per day",
        kind=QuotaExhausted,
        scope="model",
        window=DAY,
        wording=r"too many tokens per day|tokens per day[^\n]*reached",
        statuses=(0, 400, 429),
    ),
    LimitForm(source="z.ai, requests at once", scope="model", window=CONCURRENCY, codes="1302"),
    LimitForm(source="z.ai, 5 hours", kind=QuotaExhausted, window=FIVE_HOURS, codes="1308"),
    LimitForm(source="z.ai, week", kind=QuotaExhausted, window=SEVEN_DAYS, codes="1310"),
    LimitForm(
        source="z.ai, plan",
        kind=QuotaExhausted,
        codes="1304 1316 1317 1318 1319 1320 1321",
    ),
    LimitForm(source="z.ai, plan has ended", kind=QuotaExhausted, codes="1309", reset="never"),
    LimitForm(
        source="z.ai, model not in the plan",
        kind=QuotaExhausted,
        scope="model",
        codes="1311",
        reset="never",
    ),
    LimitForm(
        # Sent with 403: without this form, pi would ask the user to log in again.
        source="Kimi, billing cycle",
        kind=QuotaExhausted,
        window=BILLING_CYCLE,
        wording=r"usage limit for (?:this|the current) billing cycle",
    ),
    LimitForm(
        source="Kimi, window",
        kind=QuotaExhausted,
        wording=r"usage limit for (?:this|the current) period",
    ),
    LimitForm(
        source="opencode zen",
        kind=QuotaExhausted,
        codes="FreeUsageLimitError SubscriptionUsageLimitError MonthlyLimitError",
    ),
    LimitForm(
        source="requests at once",
        kind=RateLimited,
        window=CONCURRENCY,
        wording=r"(?:too many|number of|maximum) concurrent (?:requests|connections)"
        r"|concurrency limit|max organization concurrency",
        statuses=(0, 429),
    ),
)


def matching_form(codes: Sequence[str], text: str, status: int | None) -> LimitForm | None:
    """Return the form of a failure, by its codes or by all of its text; ``None`` if unknown."""
    plain = {plain_code(code) for code in codes} - {""}
    for form in FORMS:
        if form.statuses and (status or 0) not in form.statuses:
            continue
        if not plain.isdisjoint(map(plain_code, form.codes.split())):
            return form
        if form.wording and re.search(form.wording, text, re.IGNORECASE):
            return form
    return None
