"""Every route of the API."""

from __future__ import annotations

from studio.api import (
    auth,
    budgets,
    catalog,
    facts,
    flows,
    governing,
    ledger,
    me,
    openapi,
    runs,
    sessions,
    settings,
    validate,
)
from studio.api.route import Endpoint


def endpoints() -> tuple[Endpoint, ...]:
    """All of them, in the order in which addresses are tried."""
    return (
        *auth.ENDPOINTS,
        *me.ENDPOINTS,
        *catalog.ENDPOINTS,
        *flows.ENDPOINTS,
        *validate.ENDPOINTS,
        *runs.ENDPOINTS,
        *sessions.ENDPOINTS,
        *facts.ENDPOINTS,
        *governing.ENDPOINTS,
        *budgets.ENDPOINTS,
        *ledger.ENDPOINTS,
        *settings.ENDPOINTS,
        *openapi.ENDPOINTS,
    )
