"""A client of a running daemon, for the commands that read its data.

`client` finds the daemon's HTTP interface from its settings (or ``--url``), checks its certificate
and authenticates; `current_pairs` reads the pairs that are in force, over HTTP while the daemon
runs, else from its journal.

Invariants: it only reads. A certificate is always checked: by default it must be the very one that
the settings name, under whatever host name it is reached. A password comes from a file or the
environment, never from the command line, goes to another machine only over https, and is never
shown. A daemon that answers but rejects the client is an error; one that does not answer is not,
because its journal can be read instead.

Considered and rejected: following redirects and proxies from the environment (a password would
follow); reading the journal while the daemon runs (two writers' locks, and windows that differ from
those on the page).

What breaks first: over HTTP there are only the pairs in the windows; the result says so.
"""
