"""The page shell, which holds no user data, and the built assets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates
from starlette.types import Scope

HERE = Path(__file__).parent
STATIC = HERE / "static"
TEMPLATES = HERE / "templates"
PARTS = ("vendor.js", "rolldown-runtime.js")
"""What the page's script imports: asked for at once, not when the script was read."""


class PageRoute(Route):
    """Answers every address that is none of the API's."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and scope["path"].startswith("/api/"):
            return Match.NONE, {}
        return super().matches(scope)


class Assets(StaticFiles):
    """Built assets have stable names, so a browser asks each time whether they changed."""

    async def check_config(self) -> None:
        """A checkout whose page was not built has none of them, which is no fault of the server."""
        if self.directory is None or not await asyncio.to_thread(Path(self.directory).is_dir):
            raise HTTPException(404)

    def file_response(self, *args: object, **how: object) -> Response:
        response = super().file_response(*args, **how)  # type: ignore[arg-type]  # handed on as it came
        response.headers["cache-control"] = "no-cache"
        return response


def page_routes(static: Path = STATIC, theme: Callable[[], str] = lambda: "system") -> list[BaseRoute]:
    """The routes of assets and pages; the last one answers every address, since the page routes itself.
    `theme` (`system`, `light`, `dark`) is what the page starts with."""
    templates = Jinja2Templates(directory=TEMPLATES)

    async def shell(request: Request) -> Response:
        parts = [name for name in PARTS if (static / name).is_file()]
        names = {"parts": parts, "icon": (static / "icon.svg").is_file(), "theme": theme()}
        return templates.TemplateResponse(request, "studio.html", names)

    async def icon(_request: Request) -> Response:
        found = static / "icon.svg"
        return FileResponse(found) if found.is_file() else Response(status_code=204)

    return [
        Mount("/static", Assets(directory=static, check_dir=False), name="static"),
        Route("/favicon.ico", icon),
        PageRoute("/{path:path}", shell),
    ]
