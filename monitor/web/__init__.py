"""The daemon's HTTP service: metrics, health, the JSON interface and the page."""

from monitor.web.page import Page
from monitor.web.service import Service, ServiceError

__all__ = ["Page", "Service", "ServiceError"]
