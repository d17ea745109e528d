"""From an empty canvas to a flow that runs: with the mouse, and with the keyboard alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

from playwright.sync_api import expect

from tests.studio.browser.conftest import Person, put, talk
from tests.studio.browser.tab import Tab, doc, middle, node
from tests.studio.live import Live

JOINED = {
    ("input", "agent", "in"), ("agent", "output", "in"),
    ("memory", "agent", "memory"), ("budget", "agent", "budget"),
}  # fmt: skip


def joined(document: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(edge["source"], edge["target"], edge.get("target_port", "in")) for edge in document["edges"]}


def saved(live: Live, name: str) -> Any:
    return json.loads((live.flows / name).read_text())


def test_design_by_mouse_from_empty_to_running(tab: Tab, live: Live) -> None:
    page = tab.go("/new").page
    expect(page.get_by_text("An empty flow.")).to_be_visible()
    for kind in ("input", "agent", "memory", "budget", "output"):
        page.get_by_test_id(f"palette-{kind}").click()
        expect(tab.node(kind)).to_be_visible()
    tab.top.get_by_role("button", name="Tidy").click()
    page.locator(".react-flow__controls-fitview").click()
    tab.still()
    tab.wire("input", "out", "agent", "in")
    tab.wire("memory", "memory", "agent", "memory")
    tab.wire("budget", "budget", "agent", "budget")
    tab.wire("agent", "out", "output", "in")
    expect(page.locator(".react-flow__edge")).to_have_count(4)
    tab.node("budget").click()
    tab.field("metric").select_option(label="Spend")
    tab.field("limit").fill("0.50")
    tab.node("agent").click()
    tab.field("instructions").fill("Greet whoever comes.")
    expect(tab.top.locator(".saved-state")).to_have_text("not saved")
    page.keyboard.press("Control+s")
    expect(tab.dialog.get_by_role("button", name="Save")).to_be_disabled()
    tab.dialog.get_by_label("Name").fill("By mouse")
    expect(tab.dialog.get_by_label("File")).to_have_value("by-mouse.json")
    tab.dialog.get_by_role("button", name="Save").click()
    expect(tab.top.locator(".saved-state")).to_have_text("by-mouse.json")
    expect(tab.top.get_by_role("heading")).to_have_text("By mouse")
    assert saved(live, "by-mouse.json")["name"] == "By mouse"
    assert joined(saved(live, "by-mouse.json")) == JOINED
    tab.run("Hello, I am Ada.")
    expect(tab.log.locator(".turn-foot")).to_contain_text("tokens")
    expect(tab.node("agent")).to_have_attribute("data-state", "done")


def test_design_by_keyboard_alone(tab: Tab, live: Live) -> None:
    page = tab.go("/new").page
    keys = page.keyboard
    expect(page.get_by_text("An empty flow.")).to_be_visible()
    for kind in ("Input", "Memory", "Budget", "Output", "Agent"):
        keys.press("/")
        expect(page.get_by_role("combobox", name="Search nodes")).to_be_focused()
        keys.type(kind)
        keys.press("Enter")
        expect(tab.node(kind.lower())).to_be_visible()
    for label, other in (
        ("Into in", "input"),
        ("Into memory", "memory"),
        ("Into budget", "budget"),
        ("From out", "output"),
    ):
        tab.tab_to(tab.inspector.get_by_role("combobox", name=f"{label}: connect"))
        keys.press("ArrowDown")
        keys.press("Enter")
        expect(
            tab.inspector.locator(".port-line", has_text=label).get_by_role("button", name=other, exact=True)
        ).to_be_visible()
    tab.tab_to(
        tab.inspector.locator(".port-line", has_text="Into budget").get_by_role(
            "button", name="budget", exact=True
        )
    )
    keys.press("Enter")
    expect(tab.inspector.get_by_role("heading", name="Budget")).to_be_visible()
    tab.tab_to(tab.field("limit"))
    keys.type("5000")
    keys.press("Control+s")
    expect(tab.dialog.get_by_label("Name")).to_be_focused()
    keys.type("By hand")
    keys.press("Tab")
    expect(tab.dialog.get_by_label("File")).to_have_value("by-hand.json")
    keys.press("Control+a")
    keys.type("by-keyboard")
    keys.press("Enter")
    expect(tab.top.locator(".saved-state")).to_have_text("by-keyboard.json")
    assert joined(saved(live, "by-keyboard.json")) == JOINED
    tab.tab_to(tab.composer)
    keys.type("Hello")
    keys.press("Control+Enter")
    expect(tab.log.locator(".turn-foot")).to_contain_text("tokens")
    tab.tab_to(page.get_by_role("tab", name="Chat"))
    keys.press("ArrowRight")
    expect(page.get_by_role("treegrid", name="Timeline").get_by_role("row").nth(1)).to_be_visible()


def test_design_offers_what_fits_where_an_edge_is_dropped(tab: Tab, live: Live) -> None:
    page = tab.flow(put(live, talk("dropped"))).page
    start = middle(tab.port("helper", "out"))
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 40, start[1] + 40, steps=3)
    expect(tab.port("helper", "budget")).to_have_class(re.compile("fit-no"))
    expect(tab.port("answer", "in")).to_have_class(re.compile("fit-yes"))
    pane = page.locator(".canvas").bounding_box()
    assert pane is not None
    page.mouse.move(pane["x"] + pane["width"] / 2, pane["y"] + 30, steps=3)
    page.mouse.up()
    offered = page.get_by_role("listbox", name="Nodes").get_by_role("option")
    names = offered.locator("strong").all_inner_texts()
    assert "Template" in names and not {"Memory", "Budget", "Input", "Tool"} & set(names)
    page.keyboard.type("Template")
    page.keyboard.press("Enter")
    expect(tab.node("template")).to_be_visible()
    expect(page.locator(".react-flow__edge")).to_have_count(5)


def test_design_undo_is_one_step_a_gesture(tab: Tab, live: Live) -> None:
    page = tab.flow(put(live, talk("undone"))).page
    where = tab.page.locator(".react-flow__node", has=tab.node("answer"))
    before = where.get_attribute("style")
    x, y = middle(tab.node("answer").locator(".card-head"))
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 9):
        page.mouse.move(x + 10 * step, y + 5 * step)
    page.mouse.up()
    moved = where.get_attribute("style")
    assert moved != before
    page.keyboard.press("Control+z")
    expect(tab.top.locator(".saved-state")).to_have_text("undone.json")
    page.keyboard.press("Control+y")
    expect(tab.top.locator(".saved-state")).to_have_text("unsaved changes")


def test_design_problem_leads_to_its_field(tab: Tab, live: Live) -> None:
    page = tab.flow(put(live, talk("wrong", threshold_pct=150))).page
    expect(tab.node("purse").get_by_role("img", name=re.compile("errors"))).to_be_visible()
    page.get_by_role("tab", name="Problems").click()
    page.get_by_role("tabpanel").get_by_role("button").first.click()
    expect(tab.field("threshold_pct")).to_be_focused()
    expect(tab.inspector.locator('[data-field="threshold_pct"] .wrongs')).not_to_be_empty()
    tab.run()
    expect(page.get_by_role("alert").filter(has_text="problems")).to_be_visible()
    tab.field("threshold_pct").fill("75")
    expect(tab.node("purse").get_by_role("img", name=re.compile("errors"))).to_have_count(0)


def test_design_copy_and_paste_through_the_clipboard(tab: Tab, live: Live) -> None:
    page = tab.flow(put(live, talk("copied"))).page
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(tab.node("helper")).to_be_visible()
    page.locator(".react-flow__pane").click(position={"x": 8, "y": 8})
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    text = page.evaluate("navigator.clipboard.readText()")
    assert {each["id"] for each in json.loads(text)["nodes"]} == {
        "question",
        "helper",
        "notes",
        "purse",
        "answer",
    }
    page.keyboard.press("Control+v")
    expect(page.locator(".react-flow__edge")).to_have_count(8)
    expect(page.locator(".react-flow__node")).to_have_count(10)
    page.keyboard.press("Delete")
    expect(page.locator(".react-flow__node")).to_have_count(5)


def test_design_lays_out_by_real_sizes_and_fits_a_narrow_window(
    person: Callable[..., Person], live: Live
) -> None:
    tab = person(live).tab().flow(put(live, talk("fitted")))
    card, pill = tab.node("helper").bounding_box(), tab.node("purse").bounding_box()
    assert card and pill and card["y"] + card["height"] < pill["y"], (card, pill)
    tab.page.set_viewport_size({"width": 1024, "height": 768})
    tab.still()
    canvas = tab.page.get_by_role("region", name="Canvas").bounding_box()
    for name in ("question", "helper", "answer"):
        box = tab.node(name).bounding_box()
        assert box and canvas and canvas["x"] <= box["x"]
        assert box["x"] + box["width"] <= canvas["x"] + canvas["width"]
    drawer = tab.page.locator(".drawer").bounding_box()
    assert drawer and drawer["width"] > 900


def test_design_whole_flow_stays_in_sight_once_it_is_asked_for(tab: Tab, live: Live) -> None:
    page = tab.flow(put(live, talk("kept"))).page

    def shown() -> bool:
        canvas = page.get_by_role("region", name="Canvas").bounding_box()
        boxes = [tab.node(name).bounding_box() for name in ("question", "answer")]
        assert canvas is not None
        return all(
            box is not None
            and canvas["x"] <= box["x"]
            and box["x"] + box["width"] <= canvas["x"] + canvas["width"]
            for box in boxes
        )

    x, y = middle(page.locator(".react-flow__pane"))
    page.mouse.move(x, y + 150)
    page.mouse.down()
    page.mouse.move(x + 900, y + 150, steps=4)
    page.mouse.up()
    assert not shown()
    page.keyboard.press("f")
    tab.still()
    assert shown()
    page.set_viewport_size({"width": 1024, "height": 768})
    tab.still()
    assert shown()


def test_design_tidies_what_is_not_joined_yet_into_rows(tab: Tab) -> None:
    page = tab.go("/new").page
    expect(page.get_by_text("An empty flow.")).to_be_visible()
    for kind in ("input", "agent", "output"):
        page.get_by_test_id(f"palette-{kind}").click()
        expect(tab.node(kind)).to_be_visible()
    page.keyboard.press("l")
    tab.still()
    boxes = [tab.node(name).bounding_box() for name in ("input", "agent", "output")]
    lefts = [box["x"] for box in boxes if box is not None]
    assert len({box["y"] for box in boxes if box is not None}) == 1 and lefts == sorted(set(lefts)), boxes


def routed(name: str, routes: list[str]) -> dict[str, Any]:
    """A router with a branch for each route, in the file the other way round."""
    branches = [{"name": each, "when": f"'{each}' in input"} for each in routes[:-1]]
    nodes = [node("question", "input"), node("desk", "router", branches=branches, default=routes[-1])]
    nodes += [node(f"to-{each}", "agent", instructions="Be brief.") for each in reversed(routes)]
    nodes.append(node("answer", "output"))
    document = doc(name, nodes, [("question", "desk"), *((f"to-{each}", "answer") for each in routes)])
    document["edges"] += [
        {"source": "desk", "source_port": each, "target": f"to-{each}"} for each in reversed(routes)
    ]
    return document


def test_design_branches_stand_in_the_order_of_their_routes(tab: Tab, live: Live) -> None:
    routes = ["refund", "order", "repair", "complaint", "praise", "other"]
    page = tab.flow(put(live, routed("routed", routes))).page
    for _ in range(2):  # as it opens, from far off and before the cards were told; and once it is tidied
        tab.still()
        boxes = [tab.node(f"to-{each}").bounding_box() for each in routes]
        for above, below in pairwise(box for box in boxes if box is not None):
            assert above["y"] + above["height"] < below["y"], boxes
        page.get_by_role("button", name="Tidy").first.click()


def test_design_edge_that_is_let_go_on_a_node_takes_the_port_that_fits(tab: Tab, live: Live) -> None:
    nodes = [
        node("question", "input"),
        node("helper", "agent"),
        node("notes", "memory"),
        node("end", "output"),
    ]
    page = tab.flow(put(live, doc("let-go", nodes, []))).page

    def drag(source: str, port: str, target: str) -> None:
        start, end = middle(tab.port(source, port)), middle(tab.node(target).locator("strong").first)
        page.mouse.move(*start)
        page.mouse.down()
        page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
        page.mouse.move(*end, steps=4)
        page.mouse.up()

    drag("question", "out", "helper")
    drag("notes", "memory", "helper")
    expect(page.locator(".react-flow__edge")).to_have_count(2)
    expect(page.get_by_label("memory edge from notes to helper")).to_have_count(1)
    drag("notes", "memory", "end")
    expect(page.get_by_role("alert")).to_contain_text("end has no port that takes memory.")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(page.locator(".react-flow__edge")).to_have_count(1)


def test_design_copies_lie_on_nothing_and_are_brought_into_sight(tab: Tab, live: Live) -> None:
    page = tab.flow(put(live, talk("copied"))).page
    tab.node("helper").click()
    for number in (2, 3, 4):
        page.keyboard.press("Control+d")
        expect(tab.node(f"helper_{number}")).to_be_in_viewport(ratio=1)
    names = ("helper", "helper_2", "helper_3", "helper_4", "notes", "purse", "answer")
    boxes = [tab.node(name).bounding_box() for name in names]
    for one, other in combinations((box for box in boxes if box is not None), 2):
        apart_x = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        apart_y = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
        assert apart_x or apart_y, boxes


def test_design_node_of_a_large_flow_is_found_and_shown(tab: Tab, live: Live) -> None:
    names = [f"step-{number}" for number in range(60)]
    nodes = [node("start", "input"), *(node(name, "template", text="{{ input }}") for name in names)]
    page = tab.flow(put(live, doc("sixty", nodes, list(pairwise(["start", *names]))))).page
    page.keyboard.press("Control+f")
    found = page.get_by_role("dialog", name="Find a node")
    found.get_by_role("combobox").fill("step-4")
    expect(found.get_by_role("option")).to_have_count(11)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(found).to_have_count(0)
    expect(tab.node("step-40")).to_be_in_viewport()
    expect(tab.node("step-40")).to_have_class(re.compile("selected"))
    expect(tab.inspector.get_by_role("textbox", name="Id", exact=True)).to_have_value("step-40")


def test_design_empty_flow_is_told_what_to_do_in_the_studio(tab: Tab, live: Live) -> None:
    page = tab.go("/new").page
    page.get_by_role("tab", name="Problems").click()
    problems = page.get_by_role("tabpanel")
    expect(problems).to_contain_text("It has no nodes.")
    expect(problems).to_contain_text("drag a node from the palette")
    expect(problems).not_to_contain_text("farthing")
    (live.flows / "blank.json").write_text("")
    tab.status_expected.update({400, 422})
    tab.go("/flows/blank.json")
    expect(page.get_by_role("alert")).to_contain_text("Make a new flow, and save it under this name.")


def test_design_new_id_reaches_templates_and_a_bad_one_is_told_while_it_is_typed(
    tab: Tab, live: Live
) -> None:
    document = talk("renamed")
    document["nodes"].append(node("after", "template", text="Said: {{ inputs.helper }}"))
    document["edges"].append({"source": "helper", "target": "after"})
    tab.flow(put(live, document))
    tab.node("helper").click()
    name = tab.inspector.get_by_role("textbox", name="Id", exact=True)
    for wrong, told in (("answer", "Another node is called answer"), ("1 helper", "Begin with a letter")):
        name.fill(wrong)
        expect(tab.inspector.get_by_text(told)).to_be_visible()
    tab.node("answer").click()
    expect(tab.page.get_by_role("alert")).to_contain_text("The node stays helper")
    tab.node("helper").click()
    name.fill("assistant")
    name.press("Enter")
    tab.node("after").click()
    expect(tab.field("text")).to_have_value("Said: {{ inputs.assistant }}")


def test_design_shift_selects_one_more_and_a_misfit_is_told(tab: Tab, live: Live) -> None:
    page = tab.flow(put(live, talk("several"))).page
    tab.node("helper").click()
    tab.node("notes").click(modifiers=["Shift"])
    expect(tab.inspector.get_by_role("heading", name="2 nodes selected")).to_be_visible()
    tab.wire("notes", "memory", "helper", "budget")
    expect(page.get_by_role("alert")).to_contain_text("budget of helper takes budget, and this sends memory")
    expect(page.locator(".react-flow__edge")).to_have_count(4)


def test_design_tab_goes_through_the_nodes_as_they_stand(tab: Tab, live: Live) -> None:
    page = tab.flow(put(live, talk("ordered"))).page

    def order() -> list[str]:
        found: list[str] = page.locator(".react-flow__node").evaluate_all("all => all.map(n => n.dataset.id)")
        return found

    assert order()[0] == "question" and order()[-1] == "answer" and order() != sorted(order())
    tab.node("answer").click()
    page.keyboard.press("/")
    page.keyboard.type("Template")
    page.keyboard.press("Enter")
    expect(tab.node("template")).to_be_visible()
    assert order()[-1] == "template"


def test_run_points_at_a_required_field_that_is_empty(tab: Tab, live: Live) -> None:
    schema = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}
    document = talk("asked")
    document["nodes"][0]["config"] = {"schema": schema}
    tab.flow(put(live, document, {"helper": [{"text": "Fine."}]}))
    tab.run()
    field = tab.page.locator('.composer [data-field="question"]').locator("input, textarea").first
    expect(field).to_be_focused()
    field.fill("Why?")
    tab.run()
    expect(tab.log.locator(".bubble").last).to_have_text("Fine.")


def test_what_is_added_lies_on_nothing_and_a_note_is_written_in_at_once(tab: Tab) -> None:
    page = tab.go("/new").page
    expect(page.get_by_text("An empty flow.")).to_be_visible()
    for name in ("input", "agent", "output", "memory"):
        page.keyboard.press("/")
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        expect(tab.node(name)).to_be_visible()
    tab.still()
    boxes = [tab.node(name).bounding_box() for name in ("input", "agent", "output", "memory")]
    for first, second in combinations(boxes, 2):
        assert first is not None and second is not None
        assert (
            first["x"] + first["width"] <= second["x"]
            or second["x"] + second["width"] <= first["x"]
            or first["y"] + first["height"] <= second["y"]
            or second["y"] + second["height"] <= first["y"]
        )
    page.get_by_role("button", name="Note", exact=True).click()
    note = page.get_by_role("textbox", name="Note", exact=True)
    expect(note).to_be_focused()
    page.keyboard.type("Remember the milk")
    expect(note).to_have_value("Remember the milk")
