"""A loopback server that speaks the chat-completions format and misbehaves on demand."""
