"""The one gate of models: nothing else imports a model client."""

from runtime.calls.account import Account, Answered, Asked, Whose
from runtime.calls.clients import Clients
from runtime.calls.gate import Gate, RetryPolicy
from runtime.calls.whole import to_the_end

__all__ = ["Account", "Answered", "Asked", "Clients", "Gate", "RetryPolicy", "Whose", "to_the_end"]
