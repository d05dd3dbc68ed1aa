"""The journal: what was accepted, durable before it is acknowledged.

The way of a message
    The intake turns a read of the socket into one :class:`Batch`: its observations, the changes of
    pairs they cause, counters, dead letters. :meth:`Store.append` makes it durable in a single
    transaction, which ends with fdatasync; only then does the broker get its acknowledgements and
    memory its pairs. A process that dies before that has promised nothing, and the broker sends the
    messages again; one that dies after it finds them here, and knows them as duplicates. At the
    start everything in memory is computed from the journal: ``monitor.daemon.intake.recover``.

Invariants
    * One connection, one transaction a batch, and nothing is written outside of one.
    * The observations of a batch are one row, and so are its changes of pairs: a few columns and a
      blob with a checksum of its own. A later change of a pair replaces an earlier one with the
      same id. So nothing is updated in place, and a reading costs bytes, not rows.
    * Numbers beside pairs (covariates) are in a table of their own, in the transaction of the
      pairs: the form of these stays, and a journal without covariates pays nothing.
    * Evidence of long series is kept, for starts to go on from, and dropped in the transaction that
      changes or forgets what it rests on (docs/adr/0011). Whoever reads it may find none.
    * Every row has a checksum that covers its table and its key; the table ``seal`` has the number
      of rows of every table and the sum of their checksums. So a row that is damaged, in the wrong
      place or missing is refused and never read as something else.
    * SQLite reads its write-ahead log up to the first invalid frame and ignores the rest silently.
      :mod:`monitor.journal.failures` looks at the log before SQLite does.
    * SQLite cannot distinguish a log that is missing altogether from an empty one.
      :mod:`monitor.journal.log_end` keeps a mark in the file as long as its log is needed.
    * What cannot be trusted is refused and left as it is (exit code 65). Only ``monitor journal
      repair`` and ``monitor run --recover`` replace a file, and keep the damaged one beside it.
    * Pairs are forgotten oldest batch first: a removal is never forgotten before the pair it
      removed.

Tried and rejected
    * A row for every pair (docs/adr/0003): writing takes four times the processor time, reading
      back fifteen times (docs/evidence/performance.md, "start").
    * Running totals of the statistics beside the pairs: one wrong bit, or one huge value, would be
      in them for ever. Windows are computed anew instead, and evidence is held against a replay of
      all pairs as long as the daemon runs.
    * A file format of our own: SQLite's transactions, locks and recovery are tested better than
      ours would be. What we add is checksums: SQLite has none for the content of its pages.
    * Reading large blobs page by page: mapped memory takes a quarter of the time.
    * A thread for the journal: back-pressure would become a queue, and a queue needs a limit.

What breaks first
    The rate of fdatasync, where messages come one by one: a disk that needs 10 ms for it makes a
    hundred batches a second, and larger ones. Then the space: a full disk raises JournalFullError,
    nothing is acknowledged, and the same batch is tried again until there is room. Then the time of
    a start, which grows with the pairs that are kept (``journal.retention_days``).

:class:`Store` says what the rest of the program may rely on; :class:`Journal` is its implementation
on SQLite, ``in_memory`` has the one for recorded files, explanations and tests. Only
``monitor.journal`` knows SQLite.
"""

from monitor.journal.failures import JournalBusyError, JournalError, JournalFullError
from monitor.journal.journal import Journal, JournalAlerts
from monitor.journal.store import Batch, DeadLetter, Notification, Store

__all__ = [
    "Batch",
    "DeadLetter",
    "Journal",
    "JournalAlerts",
    "JournalBusyError",
    "JournalError",
    "JournalFullError",
    "Notification",
    "Store",
]
