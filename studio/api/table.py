"""Every route of the API."""

from __future__ import annotations

from studio.api import auth, catalog, facts, flows, me, openapi, runs, sessions, validate
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
        *openapi.ENDPOINTS,
    )
