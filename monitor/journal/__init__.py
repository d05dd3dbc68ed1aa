"""The journal: what was accepted, durable before it is acknowledged."""

from monitor.journal.errors import JournalBusyError, JournalError, JournalFullError
from monitor.journal.in_memory import InMemoryAlertLog, InMemoryStore
from monitor.journal.journal import Journal
from monitor.journal.schema import SCHEMA_VERSION
from monitor.journal.store import AlertLog, Batch, DeadLetter, Notification, Store

__all__ = [
    "SCHEMA_VERSION",
    "AlertLog",
    "Batch",
    "DeadLetter",
    "InMemoryAlertLog",
    "InMemoryStore",
    "Journal",
    "JournalBusyError",
    "JournalError",
    "JournalFullError",
    "Notification",
    "Store",
]
