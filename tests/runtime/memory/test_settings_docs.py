"""Every setting of memory is explained where it is declared."""

from __future__ import annotations

import re

import msgspec
import pytest

from runtime.memory.candidates import Candidate
from runtime.memory.cascade_stages import Cascade
from runtime.memory.clip import ToolBudget
from runtime.memory.compaction_rules import Compaction
from runtime.memory.estimate import LengthEstimator
from runtime.memory.fence import Fence
from runtime.memory.injection_rules import Injection
from runtime.memory.lifecycle import Inclusion, Lifecycle
from runtime.memory.policies import Buffer, Recall, Summary
from runtime.memory.priming import Priming
from runtime.memory.section_rules import Layout

SETTINGS = [
    Buffer,
    Candidate,
    Cascade,
    Compaction,
    Fence,
    Inclusion,
    Injection,
    Layout,
    LengthEstimator,
    Lifecycle,
    Priming,
    Recall,
    Summary,
    ToolBudget,
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.__name__)
def test_every_setting_is_in_the_docstring(settings: type[msgspec.Struct]) -> None:
    named = re.findall(r"`([a-z_*]+)`", settings.__doc__ or "")
    patterns = [re.compile(name.replace("*", ".*")) for name in named]
    unexplained = [
        field.name
        for field in msgspec.structs.fields(settings)
        if not field.required and not any(pattern.fullmatch(field.name) for pattern in patterns)
    ]
    assert unexplained == []
