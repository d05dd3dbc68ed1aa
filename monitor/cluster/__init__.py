"""The same core on a distributed engine: blocks of sensors, a log, a job, sinks.

Rules of this package: :mod:`block`, :mod:`keeping`, :mod:`placing` and :mod:`records` are pure and
need nothing but the daemon's own libraries; only :mod:`log` knows the log's client, only
:mod:`source`, :mod:`job` and :mod:`session` know the engine, and all of them import it where it is
used, so that nobody else pays for it.
"""
