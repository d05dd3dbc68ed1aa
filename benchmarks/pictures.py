"""Takes the pictures of the page in docs/images, of the demonstration, with a real Chromium.

    python benchmarks/pictures.py

Needs the extra ``dev`` and Debian's chromium; takes a minute.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, sync_playwright

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
WAIT_SECONDS: Final = 55.0  # until every fault is found and the silent cart is stale


def main() -> int:
    """Start the demonstration, wait, and take the pictures."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "monitor", "demo", "--port", str(port)]
    demo = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        time.sleep(WAIT_SECONDS)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            url = f"http://127.0.0.1:{port}"
            taken(browser, f"{url}/", "fleet.png", full_page=True)
            series = {"x": 0, "y": 0, "width": 1280, "height": 1222}
            taken(browser, f"{url}/series/cart-03/mass", "series.png", full_page=True, clip=series)
            phone = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 1.5}
            taken(browser, f"{url}/", "phone.png", context=phone)
            browser.close()
    finally:
        demo.terminate()
        demo.wait(20.0)
    return 0


def taken(
    browser: Browser, url: str, name: str, context: dict[str, Any] | None = None, **options: object
) -> None:
    """Take one picture."""
    tab = browser.new_context(
        **(context or {"viewport": {"width": 1280, "height": 800}})
    ).new_page()
    tab.goto(url, wait_until="domcontentloaded")
    tab.wait_for_timeout(1500.0)
    tab.screenshot(path=IMAGES / name, **options)  # type: ignore[arg-type]
    print(IMAGES / name)


if __name__ == "__main__":
    sys.exit(main())
