"""The same core on a distributed engine: blocks of sensors, a log, a job, sinks.

Rules of this package: :mod:`block`, :mod:`block_store`, :mod:`placing` and :mod:`records` are pure
and need nothing but the daemon's own libraries; only :mod:`kafka_log` knows the log's client, only
:mod:`spark_source`, :mod:`job` and :mod:`workers` know the engine, and all of them import it where
it is used, so that nobody else pays for it.
"""
