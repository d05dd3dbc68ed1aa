"""Spark's daemon of Python workers, with the core imported before they are forked from it."""

from pyspark import daemon

import monitor.cluster.job  # noqa: F401 - workers find it there
from monitor.daemon.gc_tuning import keep_freed, settle

if __name__ == "__main__":
    settle()
    keep_freed(256 << 20, 64 << 20)
    daemon.manager()
