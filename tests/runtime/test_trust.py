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
    Grants,
    Needs,
    add_grant,
    check_granted,
    grants_path,
    needs_hash,
    printable,
    read_grants,
    revoke_grants,
)

AT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
NEEDS = Needs(tools=("weather (tools.py)",), hosts=("api.weather.example:443",), secrets=("WX → weather",))


def test_no_needs_need_no_grant() -> None:
    check_granted("f1", Needs(), Grants())
    assert not Needs()


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
    assert refusal.remedy == f"If you trust it, run it with --allow {needs_hash('f1', NEEDS)}."
    check_granted("f1", NEEDS, Grants(), (refusal.remedy or "").split()[-1].rstrip("."))


def test_allow_fits_only_these_needs_of_this_flow() -> None:
    allow = needs_hash("f1", NEEDS)
    check_granted("f1", NEEDS, Grants(), f" {allow.upper()} ")
    with pytest.raises(NotGranted, match="something else"):
        check_granted("f2", NEEDS, Grants(), allow)
    with pytest.raises(NotGranted, match="something else"):
        check_granted("f1", Needs(tools=("other",)), Grants(), allow)
    with pytest.raises(NotGranted):
        check_granted("f1", NEEDS, Grants(), allow[:20])


def test_bundled_flows_are_granted() -> None:
    check_granted("f1", NEEDS, Grants(), bundled=True)


def test_grant_is_written_read_and_taken_back(tmp_path: Path) -> None:
    path = grants_path(tmp_path / "data")
    assert read_grants(path) == Grants()
    assert not path.exists()
    grant = add_grant(path, "f1", NEEDS, at=AT, by="local")
    add_grant(path, "f1", NEEDS, at=AT, by="local")
    add_grant(path, 'f"2\\\n', Needs(pots=("shared:team",)), at=AT, by="local")
    grants = read_grants(path)
    assert len(grants.entries) == 2
    assert grants.entries[0] == grant
    assert grant.at == "2026-01-05T09:00:00+00:00"
    check_granted("f1", NEEDS, grants)
    check_granted('f"2\\\n', Needs(pots=("shared:team",)), grants)
    with pytest.raises(NotGranted):
        check_granted("f1", Needs(tools=NEEDS.tools, hosts=(*NEEDS.hosts, "evil.example")), grants)
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
    (line,) = Needs(tools=("nice\x1b[2J\u202egnp.exe\n" + "x" * 500,)).lines()
    assert line.isprintable()
    assert len(line) < 300
    assert printable("größe → 漢") == "größe → 漢"


TEXTS = st.lists(st.text(max_size=5), max_size=3).map(tuple)
ANY_NEEDS = st.builds(Needs, tools=TEXTS, folders=TEXTS, hosts=TEXTS, secrets=TEXTS, pots=TEXTS, flows=TEXTS)


@given(st.text(max_size=5), ANY_NEEDS)
def test_hash_does_not_depend_on_order_or_repeats(flow_id: str, needs: Needs) -> None:
    shuffled = Needs(
        **{kind: (*getattr(needs, kind)[::-1], *getattr(needs, kind)) for kind in needs.__struct_fields__}
    )
    assert needs_hash(flow_id, needs) == needs_hash(flow_id, shuffled)


@given(st.text(max_size=3), ANY_NEEDS, st.text(max_size=3), ANY_NEEDS)
def test_hash_differs_where_anything_differs(one: str, needs: Needs, two: str, others: Needs) -> None:
    def content(flow_id: str, each: Needs) -> tuple[object, ...]:
        return (flow_id, *(frozenset(getattr(each, kind)) for kind in each.__struct_fields__))

    same = content(one, needs) == content(two, others)
    assert (needs_hash(one, needs) == needs_hash(two, others)) == same
