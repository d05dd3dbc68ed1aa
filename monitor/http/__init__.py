"""The daemon's HTTP service: metrics, health, the JSON interface and the page."""

from monitor.http.published import Page
from monitor.http.service import Service, ServiceError

__all__ = ["Page", "Service", "ServiceError"]
