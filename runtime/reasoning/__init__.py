"""The agent's loop: a step is budget check, model call and tool calls."""
