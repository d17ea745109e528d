"""The application: API, pages and what stands before them; its parts hang on `app.state.studio`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from runtime.errors import FarthingError
from runtime.run.services import Services
from studio.api.errors import json_response, on_bug, on_http, on_ours
from studio.api.route import route_of
from studio.api.table import endpoints
from studio.pages import page_routes
from studio.security import Guard, SecurityHeaders
from studio.state import ReadSettings, Studio


def create_app(
    services: Services,
    folder: Path,
    *,
    port: int = 0,
    pages: bool = True,
    hosts: Iterable[str] = (),
    read_settings: ReadSettings | None = None,
) -> Starlette:
    """The studio's application over an open record.

    `folder` holds the flows. `hosts` are names under which it answers besides those of loopback. `pages`
    false: the API alone. `port` goes into the cookie's name. `read_settings` reads the settings again.
    """
    studio = Studio(services, folder, port=port, read_settings=read_settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await studio.start()
        try:
            yield
        finally:
            await studio.close()

    routes: list[BaseRoute] = [route_of(endpoint, studio) for endpoint in endpoints()]
    routes.append(Route("/health", health))
    if pages:
        routes += page_routes(theme=lambda: studio.settings.display.theme)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(SecurityHeaders), Middleware(Guard, hosts=hosts)],
        exception_handlers={FarthingError: on_ours, HTTPException: on_http, Exception: on_bug},
        lifespan=lifespan,
    )
    app.state.studio = studio
    return app


async def health(_request: Request) -> Response:
    """Open to everybody: it says only that the server answers."""
    return json_response({"status": "ok"})
