"""Every route of the API."""

from __future__ import annotations

from studio.api import (
    auth,
    bills,
    budgets,
    catalog,
    changes,
    consolidation,
    exports,
    facts,
    flows,
    governing,
    judging,
    ledger,
    marks,
    me,
    moving,
    openapi,
    recalling,
    runs,
    sessions,
    settings,
    shelves,
    steps,
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
        *steps.ENDPOINTS,
        *bills.ENDPOINTS,
        *exports.ENDPOINTS,
        *shelves.ENDPOINTS,
        *facts.ENDPOINTS,
        *governing.ENDPOINTS,
        *moving.ENDPOINTS,
        *recalling.ENDPOINTS,
        *consolidation.ENDPOINTS,
        *changes.ENDPOINTS,
        *judging.ENDPOINTS,
        *marks.ENDPOINTS,
        *budgets.ENDPOINTS,
        *ledger.ENDPOINTS,
        *settings.ENDPOINTS,
        *openapi.ENDPOINTS,
    )
