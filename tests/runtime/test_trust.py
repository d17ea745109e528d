"""Trust: needs are shown and granted once, and a grant fits nothing but what was shown."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadSettings, NotGranted
from runtime.trust import (
    KINDS,
    Grants,
    add_grant,
    check_granted,
    grants_path,
    needs_hash,
    printable,
    read_grants,
    revoke_grants,
    say_needs,
)

AT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
NEEDS = ("tool weather (tools.py)", "host api.weather.example:443", "secret WX → weather")


def test_no_needs_need_no_grant() -> None:
    check_granted("f1", (), Grants())


@pytest.mark.promise("MOD-9")
def test_needs_are_refused_with_the_exact_way_to_allow_them() -> None:
    with pytest.raises(NotGranted) as caught:
        check_granted("f1", NEEDS, Grants())
    refusal = caught.value
    assert refusal.exit_code == 2
    assert refusal.code == "flow.not_granted"
    for line in (
        "use the tool weather (tools.py)",
        "reach the host api.weather.example:443",
        "use the secret WX",
    ):
        assert line in refusal.message
    assert refusal.remedy == f"If you trust it, run it with --allow {needs_hash(NEEDS)}."
    check_granted("f1", NEEDS, Grants(), (refusal.remedy or "").split()[-1].rstrip("."))


def test_allow_fits_only_these_needs() -> None:
    allow = needs_hash(NEEDS)
    check_granted("f1", NEEDS, Grants(), f" {allow.upper()} ")
    with pytest.raises(NotGranted, match="something else"):
        check_granted("f1", ("tool other",), Grants(), allow)
    with pytest.raises(NotGranted):
        check_granted("f1", NEEDS, Grants(), allow[:20])


def test_bundled_flows_are_granted() -> None:
    check_granted("f1", NEEDS, Grants(), bundled=True)


@pytest.mark.promise("MOD-9")
def test_grant_is_written_read_and_taken_back(tmp_path: Path) -> None:
    path = grants_path(tmp_path / "data")
    assert read_grants(path) == Grants()
    assert not path.exists()
    grant = add_grant(path, "f1", NEEDS, at=AT, by="local")
    add_grant(path, "f1", NEEDS, at=AT, by="local")
    add_grant(path, 'f"2\\\n', ("pot shared:team",), at=AT, by="local")
    grants = read_grants(path)
    assert len(grants.entries) == 2
    assert grants.entries[0] == grant
    assert grant.at == "2026-01-05T09:00:00+00:00"
    check_granted("f1", NEEDS, grants)
    check_granted('f"2\\\n', ("pot shared:team",), grants)
    with pytest.raises(NotGranted):
        check_granted("f1", (*NEEDS, "host evil.example"), grants)
    with pytest.raises(NotGranted):
        check_granted("f2", NEEDS, grants)
    assert revoke_grants(path, "f1") == 1
    assert revoke_grants(path, "f1") == 0
    with pytest.raises(NotGranted):
        check_granted("f1", NEEDS, read_grants(path))


def test_grant_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file in place of the folder")
    with pytest.raises(BadSettings) as caught:
        add_grant(tmp_path / "data" / "grants.toml", "f1", NEEDS, at=AT, by="local")
    assert caught.value.remedy


def test_an_id_that_no_file_can_hold_is_never_granted(tmp_path: Path) -> None:
    path = tmp_path / "grants.toml"
    add_grant(path, "\ud800", NEEDS, at=AT, by="local")
    with pytest.raises(NotGranted):
        check_granted("\ud800", NEEDS, read_grants(path))


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX")
def test_grants_are_private_and_refused_where_others_could_write(tmp_path: Path) -> None:
    path = grants_path(tmp_path / "data")
    add_grant(path, "f1", NEEDS, at=AT, by="local")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o620)
    with pytest.raises(BadSettings, match="Others can write"):
        read_grants(path)


@pytest.mark.parametrize(
    "text",
    [
        "grant = 5",
        "other = 1",
        "[[grant]]\nflow = 'x'",
        "[[grant]]\nflow='x'\nhash='y'\nat='z'\nby='b'\nneeds=[1]",
        "=",
    ],
)
def test_broken_grants_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "grants.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(BadSettings) as caught:
        read_grants(path)
    assert caught.value.remedy


def test_grants_given_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "grants.toml"
    threads = [
        threading.Thread(target=add_grant, args=(path, f"f{n}", NEEDS), kwargs={"at": AT, "by": "local"})
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.flow_id for each in read_grants(path).entries} == {f"f{n}" for n in range(8)}


def test_needs_of_strangers_are_printed_safely() -> None:
    (line,) = say_needs(["tool nice\x1b[2J\u202egnp.exe\n" + "x" * 500])
    assert line.isprintable()
    assert len(line) < 300
    assert say_needs(["oddity\n"]) == ("oddity\\n",)
    assert printable("größe → 漢") == "größe → 漢"


def test_every_kind_of_need_reads_as_a_sentence() -> None:
    assert say_needs(f"{kind} X" for kind in KINDS) == tuple(f"{KINDS[kind]} X" for kind in sorted(KINDS))


TEXTS = st.lists(st.text(max_size=5), max_size=4)


@given(TEXTS)
def test_hash_does_not_depend_on_order_or_repeats(needs: list[str]) -> None:
    assert needs_hash(needs) == needs_hash([*needs[::-1], *needs])


@pytest.mark.promise("MOD-9")
@given(TEXTS, TEXTS)
def test_hash_differs_where_anything_differs(needs: list[str], others: list[str]) -> None:
    assert (needs_hash(needs) == needs_hash(others)) == (set(needs) == set(others))
