"""The journal: what was accepted, durable before it is acknowledged.

Rules of this package: one connection, one transaction a batch, fdatasync before ``commit``
returns; observations and pairs are kept as one record a batch with a checksum; a later row of a
pair replaces an earlier one of the same id. Only ``database`` knows SQLite.
"""

from monitor.journal.alerts import Told
from monitor.journal.batch import Batch, DeadLetter
from monitor.journal.errors import JournalBusyError, JournalError, JournalFullError
from monitor.journal.journal import Journal
from monitor.journal.schema import SCHEMA_VERSION

__all__ = [
    "SCHEMA_VERSION",
    "Batch",
    "DeadLetter",
    "Journal",
    "JournalBusyError",
    "JournalError",
    "JournalFullError",
    "Told",
]
