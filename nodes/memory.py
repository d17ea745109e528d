"""The memory node: which facts the agents it is attached to are given, and where they are kept."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from runtime.errors import Problem
from runtime.node import Config, FlowView, NodeType, Port


class Block(Config):
    """A pinned working block, always sent whole."""

    name: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[^\W\d][\w-]*$")]
    """What the block is called in the prompt."""
    content: str
    """Its text."""
    order: int = 0
    """Blocks are sent by this number, then by name."""


class InjectionLimits(Config):
    """How much memory one model call is sent; the smallest of the limits binds."""

    tokens: Annotated[int, Meta(ge=0, le=10_000_000)] = 1500
    """Tokens of memory at most, by our own count."""
    lines: Annotated[int, Meta(ge=0, le=1_000_000)] = 200
    """Lines of memory at most."""
    bytes: Annotated[int, Meta(ge=0, le=100_000_000)] = 25_000
    """Bytes of memory at most, in UTF-8."""
    half_life_days: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    """After so many days an item counts half as much; absent: age does not matter."""
    min_confidence: Annotated[float, Meta(ge=0, le=1)] = 0.6
    """The model's own and derived facts below this confidence are not sent."""
    overflow: Literal["skip", "truncate", "stop"] = "skip"
    """What happens with an item that does not fit: leave it out, cut it and stop, or stop before it."""


class WriteGate(Config):
    """What the model may write."""

    max_value_bytes: Annotated[int, Meta(ge=1, le=1_000_000)] = 4000
    """Longest value, in bytes of JSON."""
    max_key_chars: Annotated[int, Meta(ge=1, le=1000)] = 120
    """Longest key, in characters."""
    max_facts: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    """How many facts one shelf may hold before the model's new keys are refused."""
    transient: Literal["expire", "refuse", "keep"] = "expire"
    """What becomes of a statement that speaks of now, today or a little while and has no end of its own: it
    ends after `transient_ttl_s`, is refused, or is kept like any other."""
    transient_ttl_s: Annotated[float, Meta(gt=0, le=315_360_000)] = 86_400
    """Seconds until such a statement ends; a day by default."""


Heading = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\r\n\u2028\u2029]+$")]
ORDERED = Meta(extra_json_schema={"x-ordered": True})
"""The order of the list matters."""
Section = Literal["known_facts", "passages", "insights", "summaries", "tools", "state"]


class Headings(Config):
    """Headings of your own in the styles plain and markdown, each one line."""

    known_facts: Heading | None = None
    """Instead of `Known Facts`."""
    passages: Heading | None = None
    """Instead of `Relevant Context`."""
    insights: Heading | None = None
    """Instead of `Recent Insights`."""
    summaries: Heading | None = None
    """Instead of `Conversation Summaries`."""
    tools: Heading | None = None
    """Instead of `Recommended Tools`."""
    state: Heading | None = None
    """Instead of `Active Plan`."""


class MaxItems(Config):
    """Most items of each section. What is absent is not limited, or, where sections are laid out, limited to
    25 facts, 10 passages, 25 insights, 10 summaries and 5 tools."""

    known_facts: Annotated[int, Meta(ge=0, le=100_000)] | None = None
    """So many facts are sent at most, those that fit the newest message best."""
    passages: Annotated[int, Meta(ge=0, le=100_000)] | None = None
    """So many past exchanges are sent at most."""
    insights: Annotated[int, Meta(ge=0, le=100_000)] | None = None
    """So many derived facts are sent at most."""
    summaries: Annotated[int, Meta(ge=0, le=100_000)] | None = None
    """So many summaries are sent at most, the newest, where sections are laid out."""
    tools: Annotated[int, Meta(ge=0, le=1000)] | None = None
    """So many tools are pointed out at most, where sections are laid out."""


class Compaction(Config):
    """Old turns of a session are replaced by summaries in the background, once prompts get full. For agents
    whose `context` is `full` or `buffer` and whose model's window is known."""

    enabled: bool = False
    """Whether that is done."""
    model: str | None = None
    """`provider:name` that writes the summaries. Absent: the agent's own model."""
    compaction_threshold: Annotated[float, Meta(ge=0.5, le=1)] = 0.85
    """Share of the window from which on a rising trend asks for it."""
    critical_threshold: Annotated[float, Meta(ge=0.5, le=1)] = 0.95
    """Share of the window from which on the longer time budget holds."""
    target_utilization: Annotated[float, Meta(ge=0.3, le=0.95)] = 0.70
    """Share of the window to come down to."""
    cooldown_turns: Annotated[int, Meta(ge=1, le=1000)] = 3
    """Turns from one time to the next."""
    max_duration_ms: Annotated[int, Meta(ge=100, le=120_000)] = 15_000
    """Milliseconds that it may take."""
    critical_max_duration_ms: Annotated[int, Meta(ge=500, le=180_000)] = 45_000
    """Milliseconds that it may take when prompts are critically full, or when a person asked."""
    min_turns_to_summarize: Annotated[int, Meta(ge=2, le=1000)] = 5
    """Fewer old turns are left alone."""
    max_turns_per_summary: Annotated[int, Meta(ge=2, le=1000)] = 8
    """Turns of one summary."""
    compaction_recency_window: Annotated[int, Meta(ge=2, le=50)] = 4
    """Newest turns that are never touched."""
    trend_window: Annotated[int, Meta(ge=3, le=50)] = 10
    """Turns that a trend looks back."""
    insight_dedup_enabled: bool = True
    """Whether derived facts that say what a newer one says are retired on this occasion."""
    insight_similarity_threshold: Annotated[float, Meta(ge=0.5, le=1)] = 0.90
    """Share of words in common from which on they say the same."""
    max_insights_to_check: Annotated[int, Meta(ge=5, le=1000)] = 50
    """So many derived facts are compared, the newest."""
    promote_hits: Annotated[int, Meta(ge=1, le=1000)] = 3
    """A derived fact that so many runs used becomes a fact like those that the model writes."""


class Inclusion(Config):
    """Whether a past exchange qualifies for one recall: its likeness (the share of the question's words that
    it has), less for its age, more for each earlier use."""

    enabled: bool = False
    """Whether that is asked; else every exchange that shares a word with the question may be recalled."""
    decay_rate: Annotated[float, Meta(ge=0.0001, le=0.1)] = 0.005
    """How fast age takes from it, per hour: likeness times exp(-rate times hours)."""
    usage_boost: Annotated[float, Meta(ge=0, le=1)] = 0.1
    """What earlier uses add: times 1 + boost times ln(1 + uses)."""
    threshold: Annotated[float, Meta(ge=0, le=1)] = 0.6
    """Least result that qualifies."""


class Lifecycle(Config):
    """Derived facts and past exchanges fade unless they are used, and stay for good where they often are.
    What people said, what the model wrote, pinned blocks and the timeline never fade."""

    enabled: bool = False
    """Whether that is done."""
    decay_rate: Annotated[float, Meta(ge=0.001, le=0.5)] = 0.01
    """How fast a score of 1 falls, per hour since the last use: times exp(-rate times hours)."""
    access_boost: Annotated[float, Meta(ge=0, le=0.5)] = 0.2
    """What each run that uses an item adds to its score, up to 1."""
    decay_threshold: Annotated[float, Meta(ge=0, le=1)] = 0.2
    """Below this score a derived fact is retired and a past exchange is no longer recalled."""
    promotion_threshold: Annotated[float, Meta(ge=0, le=1)] = 0.7
    """From this result on an item stays for good: the shares of age, uses, confidence and links below."""
    short_term_min_age_hours: Annotated[float, Meta(ge=1, le=87_600)] = 24
    """Hours before which nothing stays for good."""
    decay_check_interval_hours: Annotated[float, Meta(ge=1, le=87_600)] = 24
    """Hours from one look, after a turn and in the background, to the next."""
    decayed_retention_days: Annotated[float, Meta(ge=1, le=36_500)] = 30
    """Days after which a retired derived fact loses its value; until then it can be taken back."""
    promotion_weight_age: Annotated[float, Meta(ge=0, le=1)] = 0.2
    """Share of age, whole after 72 hours. The four shares make 1."""
    promotion_weight_access: Annotated[float, Meta(ge=0, le=1)] = 0.4
    """Share of use, whole after 5 runs."""
    promotion_weight_confidence: Annotated[float, Meta(ge=0, le=1)] = 0.2
    """Share of confidence."""
    promotion_weight_connection: Annotated[float, Meta(ge=0, le=1)] = 0.2
    """Share of links, whole with 3 other facts about the same subject."""
    inclusion: Inclusion = Inclusion()
    """Whether a past exchange qualifies for one recall."""


class Extraction(Config):
    """After each turn, in the background, a model lists what the turn tells about the user."""

    enabled: bool = False
    """Whether that is done."""
    max_facts: Annotated[int, Meta(ge=1, le=50)] = 5
    """Facts of one turn at most."""


class Supporting(Config):
    """What supporting context may take of a model's window, where that is known."""

    ratio: Annotated[float, Meta(ge=0, le=1)] = 0.30
    """Share of what instructions, tools and the answer's room leave of the window; 0 sends no memory."""
    section_priority: Annotated[tuple[Section, ...] | None, ORDERED] = None
    """Lays memory out in these sections, the most important first: each is added while it fits, the first
    that does not is cut, and what is not named is not sent. Absent: without sections; facts and past
    exchanges compete by how well they fit the newest message."""
    style: Literal["plain", "markdown", "json", "xml"] | None = None
    """How the sections are written. Absent: `plain` where they are laid out. Given alone, it lays them out in
    the order known_facts, passages, insights, summaries, tools, state."""
    headings: Headings = Headings()
    """Headings of your own. Given alone, they lay the sections out too."""
    max_items: MaxItems = MaxItems()
    """Most items of each section."""


class Priming(Config):
    """What comes along into a session whatever is asked: turns and summaries of the user's earlier sessions,
    and of the facts, where they do not all fit, those that are surest and newest. Scope `user` only."""

    enabled: bool = False
    """Whether anything does."""
    token_budget: Annotated[int, Meta(ge=0, le=10_000_000)] = 4000
    """Tokens of it at most: facts first, then summaries, then turns, the newest of them first."""
    top_entities: Annotated[int, Meta(ge=0, le=10_000)] = 20
    """So many subjects at most, each with all facts about it."""
    max_insights: Annotated[int, Meta(ge=0, le=10_000)] = 10
    """So many derived facts at most."""
    max_summaries: Annotated[int, Meta(ge=0, le=1000)] = 5
    """So many summaries of earlier sessions at most, the newest; they come from `compaction`."""
    max_known_facts: Annotated[int, Meta(ge=0, le=10_000)] = 20
    """So many facts that are about no named subject at most."""
    previous_sessions: Annotated[int, Meta(ge=0, le=100)] = 1
    """Turns of so many earlier sessions, the latest ones; the first to give way when the window is full."""
    previous_session_turns: Annotated[int, Meta(ge=0, le=1000)] = 3
    """How many last turns of each."""


class MemoryConfig(Config):
    """Facts under session or user scope."""

    scope: Literal["session", "user"] = "session"
    """`session`: facts belong to one session. `user`: they follow the user across sessions."""
    namespace: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """Memories with the same namespace share their facts. Absent: the flow's id."""
    blocks: tuple[Block, ...] = ()
    """Pinned texts that the agents always see."""
    blocks_max_tokens: Annotated[int, Meta(ge=0)] = 2000
    """Blocks together may not be larger, in tokens."""
    injection: InjectionLimits = InjectionLimits()
    """How much memory one model call is sent."""
    supporting: Supporting = Supporting()
    """What supporting context may take of a model's window."""
    episodes: Annotated[int, Meta(ge=0, le=50)] = 0
    """So many past exchanges of the user's other sessions are recalled at most, by how well they fit the
    newest message; 0: none. They share the injection limits with the facts. Scope `user` only."""
    priming: Priming = Priming()
    """What of the user's earlier sessions comes along into a new one."""
    compaction: Compaction = Compaction()
    """Old turns replaced by summaries in the background."""
    extraction: Extraction = Extraction()
    """Facts found in each turn in the background."""
    lifecycle: Lifecycle = Lifecycle()
    """Derived facts and past exchanges fade unless they are used."""
    tools: tuple[Literal["read", "write", "forget"], ...] = ("read", "write")
    """What the model may do to facts on its own."""
    write: WriteGate = WriteGate()
    """What the model may write."""


def check(config: MemoryConfig, view: FlowView) -> list[Problem]:
    return [*_of_scope(config, view), *_of_weights(config, view), *_of_sections(config, view)]


def _of_weights(config: MemoryConfig, view: FlowView) -> list[Problem]:
    """The four shares must make 1, give or take 0.01."""
    rules = config.lifecycle
    weights = (
        rules.promotion_weight_age,
        rules.promotion_weight_access,
        rules.promotion_weight_confidence,
        rules.promotion_weight_connection,
    )
    if abs(sum(weights) - 1) <= 0.01 + 1e-9:
        return []
    text = f"the promotion weights of the Memory {view.node_id!r} add up to {sum(weights):g}"
    remedy = "Choose the four `promotion_weight_*` so that they make 1."
    return [Problem("memory.weights", text, remedy, view.node_id, "config.lifecycle")]


def _of_sections(config: MemoryConfig, view: FlowView) -> list[Problem]:
    order = config.supporting.section_priority or ()
    twice = sorted({name for name in order if order.count(name) > 1})
    if not twice:
        return []
    text = f"the Memory {view.node_id!r} names the section {twice[0]!r} twice"
    where = "config.supporting.section_priority"
    return [Problem("memory.section_twice", text, "Name each section once.", view.node_id, where)]


def _of_scope(config: MemoryConfig, view: FlowView) -> list[Problem]:
    wished = {"episodes": config.episodes > 0, "priming.enabled": config.priming.enabled}
    return [
        Problem(
            "memory.session_scope",
            f"the Memory {view.node_id!r} keeps facts of a session and is to bring in other sessions",
            f"Set `scope` to `user`, or leave out `{field}`.",
            view.node_id,
            f"config.{field}",
        )
        for field, wanted in wished.items()
        if wanted and config.scope != "user"
    ]


def summary(config: MemoryConfig) -> str:
    parts = [f"{config.scope} facts"]
    if config.blocks:
        parts.append(f"{len(config.blocks)} pinned")
    if config.episodes:
        parts.append("past exchanges")
    return ", ".join(parts)


node = NodeType(
    name="memory",
    config=MemoryConfig,
    title="Memory",
    category="Memory",
    icon="bookmark",
    help="Keeps facts and sends them to the agents it is attached to.",
    outputs=(Port("memory", "memory"),),
    summary=summary,
    check=check,
    keywords=("facts", "remember", "profile", "notes"),
)
