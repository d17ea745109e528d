"""What a person sees of a run while it runs: a line a step on stderr, the answer's words on stdout."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.cli.plain import clip, one_line, visible
from runtime.cli.streams import coloured, is_terminal, paint, say, width_of
from runtime.events import (
    AgentError,
    AgentUsage,
    AgentWarning,
    Entry,
    ModelCalled,
    PolicyFailed,
    RunStarted,
    SessionOpened,
)

if TYPE_CHECKING:
    from runtime.cli.timeline import Timeline
    from runtime.secrets.redact import Redactor
    from runtime.secrets.streamed import Streamed

REHEARSAL = "rehearsal: the scripted model answers, not a real one; no money is spent"
LOUD = (AgentWarning, AgentError, PolicyFailed)
"""What is said in a pipe too."""
ERASE_LINE = "\r\x1b[K"


class Live:
    """Follows one run. On a terminal it draws; in a pipe it says only what must be said, and until then does
    not even load what draws."""

    def __init__(self, *, new_session: bool, quiet: bool = False, db: Path | None = None) -> None:
        self._timeline: Timeline | None = None
        self._started: Entry | None = None
        self._shown = is_terminal(sys.stderr) and not quiet
        self._streams = is_terminal(sys.stdout) and not quiet
        self._new_session, self._db = new_session, db
        self._redactor: Redactor | None = None
        self._stream: Streamed | None = None
        self._node: str | None = None
        self._text = ""
        self._mid_line = False
        self._hint = False
        self.stopped = False

    def clean_with(self, redactor: Redactor | None) -> None:
        """Replace secrets in what is shown as it comes; what is stored is cleaned elsewhere."""
        self._redactor = redactor

    @property
    def streamed(self) -> str | None:
        """The last text that was shown as it came; None where none was."""
        return self._text if self._text.strip() else None

    def entry(self, entry: Entry) -> None:
        """A committed event. A screen that has gone is no reason to end a run."""
        with suppress(OSError):
            self._entry(entry)

    def _entry(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, AgentUsage) and event.node_id == self._node and self._stream is not None:
            self._speak(self._stream.end())
        if isinstance(event, SessionOpened) and self._new_session:
            self._say(f"session {one_line(event.name)}", "dim")
        if isinstance(event, RunStarted):
            self._started = entry
            if event.rehearsal:
                self._say(REHEARSAL, "yellow")
        if self._shown or isinstance(event, LOUD):
            self._draw(entry)
        if self._shown and isinstance(event, ModelCalled) and os.environ.get("TERM") != "dumb":
            where = f"{one_line(event.node_id or '')} step {event.step or ''}"
            self._say_hint(f"{where} · {one_line(event.model)} …")
        if isinstance(event, AgentUsage) and event.node_id == self._node:
            self._node = None

    def delta(self, node_id: str, text: str) -> None:
        """Words of an agent's model as they come. Of agents at the same time only the first is shown."""
        if not self._streams:
            return
        if self._node is None:
            from runtime.secrets.streamed import Streamed

            self._node, self._text, self._stream = node_id, "", Streamed(self._redactor)
        if node_id == self._node and self._stream is not None:
            self._speak(self._stream.add(text))

    def _speak(self, text: str) -> None:
        if not text:
            return
        self._text += text
        with suppress(OSError):
            self._drop_hint()
            sys.stdout.write(visible(text))
            sys.stdout.flush()
            self._mid_line = not self._text.endswith("\n")

    def end(self) -> None:
        """The run is over: leave the cursor at the beginning of a line."""
        self._drop_hint()
        if self._mid_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._mid_line = False

    def _say_hint(self, text: str) -> None:
        """What is being waited for, on a line that goes away with the next thing said."""
        self.end()
        room = max(1, width_of(sys.stderr) - 1)
        sys.stderr.write(paint(clip(text, room), "dim", on=coloured(sys.stderr)))
        sys.stderr.flush()
        self._hint = True

    def _drop_hint(self) -> None:
        if self._hint:
            sys.stderr.write(ERASE_LINE)
            sys.stderr.flush()
            self._hint = False

    def _draw(self, entry: Entry) -> None:
        from runtime.cli.timeline import Timeline
        from runtime.cli.timeline_text import Paper, live_lines

        if self._timeline is None:
            self._timeline = Timeline()
            if self._started is not None and self._started is not entry:
                self._timeline.add(self._started.seq, self._started.event)
        paper = Paper(width_of(sys.stderr), coloured(sys.stderr), quotes=not self._streams, db=self._db)
        for row in self._timeline.add(entry.seq, entry.event):
            self.stopped = self.stopped or row.kind == "stop"
            for line in live_lines(row, paper):
                self._say(line)

    def _say(self, text: str, *styles: str) -> None:
        self.end()
        say(text, *styles)
