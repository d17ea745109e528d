"""A node's only door: what `ctx` is while a run goes on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.calls import Account, Asked, Gate
from runtime.errors import InputError
from runtime.events import Custom
from runtime.facts import Fact, Kind, Shelf, Written
from runtime.ledger import Subject
from runtime.memory_service import InternalFacts, MemoryService, Where
from runtime.memory_service.indexes import Whose
from runtime.memory_service.others import OtherSessions
from runtime.memory_service.usage_facts import UsageFacts
from runtime.messages import Message, OnDelta, Purpose, Reply, Request
from runtime.node import Inputs, NodeResult
from runtime.plan import MemoryBinding, PlanNode
from runtime.reasoning.lent import AnswersForTools, LentTool
from runtime.reasoning.loop import reason
from runtime.reasoning.planning import PlanTool
from runtime.reasoning.toolbox import MemoryTool, Tool, Toolbox

if TYPE_CHECKING:
    from runtime.run.schedule import Run
    from runtime.tools.attached import Attached

ALONE = re.compile(r"\s*\{\{((?:(?!\}\}|\{\{).)*)\}\}\s*", re.DOTALL)
"""One expression and nothing else."""


class Context:
    """The door of one visit of one node. What it needs is made when it is first asked for."""

    _accounts: list[Account] | None = None
    _memory: MemoryService | None = None
    _toolbox: Toolbox | None = None
    _steps = 0
    _tool_calls = 0

    def __init__(self, run: Run, node: PlanNode, visit: int = 1) -> None:
        self._run, self.node, self.visit = run, node, visit

    @property
    def node_id(self) -> str:
        return self.node.id

    # -- what a node may do

    async def reason(self, task: Any, inputs: Inputs) -> NodeResult:
        prompt = as_text(inputs.value) if task.prompt is None else self.render(task.prompt, inputs)
        return await reason(task, self, prompt)

    async def complete(self, request: Request, *, purpose: Purpose = "main") -> Reply:
        step = self.take_step()
        account = self.account
        hinted = msgspec.structs.replace(
            request,
            model=account.model.name,
            timeout_s=min(request.timeout_s, account.provider.timeout_s),
            hints={"node_id": self.node.id, "purpose": purpose},
        )
        news = tuple(msgspec.Raw(message.wire) for message in request.messages)
        asked = Asked(request=hinted, purpose=purpose, step=step, news=news, on_delta=self.on_delta)
        return (await self.gate.call(account, asked)).reply

    def render(self, text: str, inputs: Inputs) -> str:
        from runtime.template import Template

        return Template(text).render(inputs.names())

    def text(self, value: Any) -> str:
        return as_text(value)

    def evaluate(self, text: str, inputs: Inputs) -> Any:
        from runtime.template import Condition

        alone = ALONE.fullmatch(text)
        return Condition(alone[1]).value(inputs.names()) if alone else self.render(text, inputs)

    def test(self, condition: str, inputs: Inputs) -> bool:
        from runtime.template import Condition

        return Condition(condition).test(inputs.names())

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if all(spec.name != name for spec in self.toolbox.specs):
            raise InputError(f"The tool {name!r} is not attached to {self.node.id!r}.", code="tool.unknown")
        self._tool_calls += 1
        key = f"{self.node.id}#{self.visit}/{self._steps}/call/{self._tool_calls}"
        where = Where(self._run.run_id, self.node.id, self._steps or None)
        return await self.toolbox.call_one(name, arguments, where, key)

    @property
    def facts(self) -> Facts:
        if self.memory is None:
            raise InputError(f"No Memory is attached to {self.node.id!r}.", remedy="Attach a Memory node.")
        return Facts(self.memory, Where(self._run.run_id, self.node.id, self._steps or None))

    async def history(self, *, last: int | None = None) -> list[Message]:
        messages = self._run.histories.get(self.node.id, [])
        return messages if last is None else messages[-last:]

    def emit(self, name: str, data: Any = None) -> None:
        self._run.journal.say(
            Custom(
                at=self._run.clock.now(), run_id=self._run.run_id, node_id=self.node.id,
                step=self._steps or None, name=name, data=data,
            )
        )  # fmt: skip

    # -- what the agent's loop needs besides

    @property
    def gate(self) -> Gate:
        return self._run.services.gate

    @property
    def account(self) -> Account:
        """The model in use: the node's own, or after a failure for good the fallback that took over."""
        if self._accounts is None:
            self._accounts = self._run.accounts(self.node, self.visit)
        return self._accounts[0]

    def fall_back(self) -> bool:
        """Go over to the next of the node's models; False where there is none."""
        if self._accounts is None or len(self._accounts) < 2:
            return False
        del self._accounts[0]
        return True

    @property
    def memory(self) -> MemoryService | None:
        binding = self.node.memory
        if self._memory is None and binding is not None:
            run = self._run
            owner = run.session_uid if binding.config.scope == "session" else run.user or ""
            shelf = Shelf(run.partition, binding.namespace, binding.config.scope, owner)
            self._memory = MemoryService(
                binding.config,
                shelf,
                run.journal,
                indexes=run.services.indexes,
                others=self._other_sessions(binding),
                usage=self._usage(),
            )
            self._memory.tainted = run.comes_tainted(self.node)
            run.memories.append((self.node, self._memory))
        return self._memory

    def _other_sessions(self, binding: MemoryBinding) -> OtherSessions | None:
        """The user's other sessions, where their Memory is the user's."""
        run = self._run
        if binding.config.scope != "user" or not run.user:
            return None
        nodes = [node for node in run.plan.nodes if node.memory is not None]
        same = tuple(
            node.id for node in nodes
            if node.memory is not None and node.memory.config.scope == "user"
            and node.memory.namespace == binding.namespace
        )  # fmt: skip
        whose = Whose(run.partition, run.user, run.plan.flow_id, same)
        return OtherSessions(run.services.record, run.services.indexes, whose, run.session_uid, self.node.id)

    def _usage(self) -> UsageFacts | None:
        """The budgets that govern this node's calls, where there are any."""
        run = self._run
        given = run.assignments.get(self.node.id)
        if given is None or not given[0].rules:
            return None
        subject = Subject(run.partition, run.user, run.session_uid, run.run_id)
        return UsageFacts(run.services.record, run.clock, given[0].rules, subject)

    @property
    def internal(self) -> InternalFacts:
        """Farthing's own facts of this node, on its Memory's shelf, else the session's."""
        run = self._run
        memory = self.memory
        shelf = memory.shelf if memory else Shelf(run.partition, run.plan.flow_id, "session", run.session_uid)
        where = Where(run.run_id, self.node.id, self._steps or None)
        return InternalFacts(shelf, run.journal, where, run.session_uid)

    def side_account(self, model: str | None) -> Account:
        """Who pays for a side call: the node's own account, with another model where one is named."""
        return self.account if model is None else self._run.side_account(self.node, self.visit)

    @property
    def toolbox(self) -> Toolbox:
        if self._toolbox is None:
            redactor = self._run.services.redactor
            self._toolbox = Toolbox(
                self._tools(),
                self._run.journal,
                self.memory,
                clean=None if redactor is None else redactor.value,
                count=self._count,
            )
        return self._toolbox

    @property
    def tainted(self) -> bool:
        """Whether this node has seen what came from outside: by a lent tool, or a tainted fact."""
        toolbox, memory = self._toolbox, self._memory
        return (toolbox is not None and toolbox.tainted) or (memory is not None and memory.tainted)

    @property
    def on_delta(self) -> OnDelta | None:
        listener = self._run.on_delta
        if listener is None:
            return None
        node_id = self.node.id
        return lambda text: listener(node_id, text)

    def take_step(self) -> int:
        """The next step's number in this node. Raises BoundReached at the run's own bound."""
        self._run.take_step(self.node.id)
        self._steps += 1
        return self._steps

    def _count(self, text: str) -> int:
        given = self._run.assignments.get(self.node.id)
        return self.gate.counter.text(str(given[0].model) if given else "", text)

    def _tools(self) -> Sequence[Tool | LentTool]:
        tools: list[Tool | LentTool] = [self._lent(tool) for tool in self.node.tools]
        if self.memory is not None:
            tools += [MemoryTool(self.memory, spec) for spec in self.memory.tool_specs()]
        if getattr(self.node.config, "planning", False):
            tools.append(PlanTool(self))
        return tools

    def _lent(self, tool: Attached) -> LentTool:
        run = self._run
        rehearsed = run.partition == "rehearsal" and tool.effect != "none" and not run.real_tools
        client: object = self.account.client if rehearsed and self.node.id in run.assignments else None
        script = client if isinstance(client, AnswersForTools) else None
        return LentTool(tool, run.clock, rehearsed, script)


class Facts:
    """The facts door: the shelf of the attached Memory, through its gate."""

    def __init__(self, memory: MemoryService, where: Where) -> None:
        self._memory, self._where = memory, where

    async def all(self) -> list[Fact]:
        return await self._memory.current()

    async def write(
        self, key: str, value: Any, *, kind: Kind = "fact", ttl_s: float | None = None
    ) -> Written:
        return await self._memory.write(key, value, self._where, kind=kind, ttl_s=ttl_s)


def as_text(value: Any) -> str:
    """A value as a user's message: a text as it is, nothing as nothing, all else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()
