"""Spark's daemon of Python workers, which imports the core before it forks them."""

from pyspark import daemon

import monitor.extensions.cluster.job  # noqa: F401 - workers find it there
from monitor.daemon.runtime import OF_WORKERS, freeze_after_start, retain_freed

if __name__ == "__main__":
    freeze_after_start()
    retain_freed(*OF_WORKERS)
    daemon.manager()
