"""Takes the pictures of the page in docs/images, of the demonstration, with a real Chromium.

    python benchmarks/pictures.py

Needs the extra ``dev`` and Debian's chromium; takes a minute. The pictures have the 255 commonest
colours, and of the others the nearest, so that each has less than 200 kB.
"""

from __future__ import annotations

import base64
import shutil
import socket
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, sync_playwright

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
WAIT_SECONDS: Final = 55.0  # until every fault is found and the silent cart is stale
_COLOURS: Final = 255
_READ: Final = """async (data) => {
  const picture = new Image();
  picture.src = `data:image/png;base64,${data}`;
  await picture.decode();
  const canvas = document.createElement('canvas');
  const [width, height] = [canvas.width, canvas.height] = [picture.width, picture.height];
  const draw = canvas.getContext('2d');
  draw.drawImage(picture, 0, 0);
  const bytes = draw.getImageData(0, 0, width, height).data;
  let text = '';
  for (let at = 0; at < bytes.length; at += 32768)
    text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return {width, height, data: btoa(text)};
}"""


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
            browser.close()
    finally:
        demo.terminate()
        demo.wait(20.0)
    return 0


def taken(browser: Browser, url: str, name: str, **options: object) -> None:
    """Take one picture."""
    tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    tab.goto(url, wait_until="domcontentloaded")
    tab.wait_for_timeout(1500.0)
    shot = tab.screenshot(**options)  # type: ignore[arg-type]
    blank = tab.context.browser.new_page()  # type: ignore[union-attr]
    (IMAGES / name).write_bytes(indexed(pixels(blank, shot)))
    print(IMAGES / name)


def pixels(blank: Page, shot: bytes) -> NDArray[np.uint8]:
    """Return the pixels of a picture (height x width x RGB), read by the browser."""
    told = blank.evaluate(_READ, base64.b64encode(shot).decode())
    raw = np.frombuffer(base64.b64decode(told["data"]), dtype=np.uint8)
    rgba = raw.reshape(told["height"], told["width"], 4)
    return np.ascontiguousarray(rgba[:, :, :3])


def indexed(picture: NDArray[np.uint8]) -> bytes:
    """Return a PNG with a palette of at most 255 colours."""
    height, width, _ = picture.shape
    wide = picture.astype(np.int32) @ np.array([65536, 256, 1], dtype=np.int32)
    colours, where, counts = np.unique(wide, return_inverse=True, return_counts=True)
    kept = colours[np.argsort(-counts, kind="stable")[:_COLOURS]]
    parts = (np.stack([each >> 16, each >> 8 & 255, each & 255], 1) for each in (colours, kept))
    every, few = parts
    nearest = np.array([np.argmin(np.abs(few - one).sum(1)) for one in every], dtype=np.uint8)
    rows = np.zeros((height, width + 1), dtype=np.uint8)
    rows[:, 1:] = nearest[where].reshape(height, width)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = {b"IHDR": header, b"PLTE": few.astype(np.uint8).tobytes()}
    chunks |= {b"IDAT": zlib.compress(rows.tobytes(), 9), b"IEND": b""}
    packed = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


if __name__ == "__main__":
    sys.exit(main())
