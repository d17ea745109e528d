"""Names that are nearly right are answered with the right one; what is empty says what to do next."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runtime.cli.conftest import Farthing

Write = Callable[..., str]


@pytest.fixture
def ran(farthing: Farthing, write_flow: Write) -> Farthing:
    flow = write_flow({"text": "Hello."})
    assert farthing("run", flow, "Hi", "--session", "monday", "--user", "ada").code == 0
    return farthing


@pytest.mark.promise("CLI-9")
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["events", "--flow", "greter"], "do: Did you mean greeter?"),
        (["context", "--flow", "greter"], "do: Did you mean greeter?"),
        (["sessions", "--flow", "greter"], "do: Did you mean greeter?"),
        (["facts", "--flow", "greter"], "do: Did you mean greeter?"),
        (["spend", "--flow", "greter"], "do: Did you mean greeter?"),
        (["budget", "--flow", "greter"], "do: Did you mean greeter?"),
        (["spend", "--flow", "zzz"], "do: There are: greeter. Or give its file."),
        (["facts", "set", "k", "v", "--flow", "greter"], "do: Did you mean greeter?"),
        (["context", "monday", "--node", "helpr"], "do: There are: helper."),
        (["events", "monday", "--type", "agent.usge"], "do: Did you mean agent.usage?"),
        (["events", "mond"], "like it:\n"),
        (["events", "mnoday"], "like it:\n"),
        (["context", "Monday"], "like it:\n"),
    ],
    ids=str,
)
def test_a_name_that_is_nearly_right(ran: Farthing, args: list[str], says: str) -> None:
    said = ran(*args)
    assert said.code == 2 and not said.out
    assert says in said.err


@pytest.mark.parametrize("args", [["sessions"], ["facts"], ["spend"], ["spend", "--rows"]], ids=str)
def test_a_user_that_is_nearly_right(ran: Farthing, args: list[str]) -> None:
    said = ran(*args, "--user", "adaa", "--rehearsal")
    assert said.code == 0
    assert "Nothing here is of a user 'adaa'. Did you mean 'ada'?" in said.err
    assert "Nothing here" not in ran(*args, "--user", "ada", "--rehearsal").err


def test_what_is_empty_says_what_to_do_next(ran: Farthing) -> None:
    assert "`farthing run example:support" in ran("sessions").err
    assert "Leave out what narrows it" in ran("sessions", "--state", "failed", "--rehearsal").err
    assert "`farthing facts set` does." in ran("facts").err
