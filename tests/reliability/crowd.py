"""A crowd at the door of the page: those who say nothing, who guess, and who know the password.

Rules of this file: each role has a process of its own, so that no role delays another; what is
measured is how long each scrape took, and how many were not answered.
"""

from __future__ import annotations

import asyncio
import base64
import multiprocessing
import resource
import ssl
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import bcrypt
from harness.certificates import Authority

GUESSERS: Final = 60
SCRAPERS: Final = 100
NAME: Final = "prometheus"
PASSWORD: Final = "right"
_HELLO: Final = b"\x16\x03\x01"
_HOST: Final = "127.0.0.1"
_ELSEWHERE: Final = "127.0.0.2"
_SCRAPE_EVERY: Final = 2.0
_GUESS_EVERY: Final = 0.5
_AGAIN_AFTER: Final = 5.0
_ANSWER_SECONDS: Final = 30.0
_FAILED: Final = (OSError, asyncio.IncompleteReadError, TimeoutError)


class Door(NamedTuple):
    """The setting of a page with TLS and passwords, and the certificate that its readers trust."""

    setting: str
    trusted: str

    def context(self) -> ssl.SSLContext:
        """Return how its readers connect."""
        return ssl.create_default_context(cafile=self.trusted)


class Crowd(NamedTuple):
    """How long scrapes took, and how many got no page; connections opened, passwords tried."""

    seconds: list[float]
    refused: int
    silent: int
    guesses: int


def locked(folder: Path) -> Door:
    """Write what locks a page into a new folder."""
    folder.mkdir()
    authority = Authority(folder)
    certificate, key = authority.issue("server", "localhost", _HOST)
    hash_ = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(10)).decode()
    web = folder / "web.yml"
    web.write_text(
        f"tls_server_config: {{cert_file: {certificate.name}, key_file: {key.name}}}\n"
        f'basic_auth_users: {{{NAME}: "{hash_}"}}\n',
        encoding="utf-8",
    )
    return Door(f'web_config: "{web}"', str(authority.ca_file))


def authorization(password: str) -> str:
    """Return the header's value."""
    return "Basic " + base64.b64encode(f"{NAME}:{password}".encode()).decode()


def crowd(door: Door, port: int, silent: int, seconds: float) -> Crowd:
    """Let all of them come for so long."""
    with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as roles:
        quiet = roles.submit(_silent, port, silent, seconds)
        tried = roles.submit(_guessing, door, port, seconds)
        scraped = roles.submit(_scraping, door, port, seconds)
        took, refused = scraped.result()
        return Crowd(took, refused, quiet.result(), tried.result())


def _silent(port: int, many: int, seconds: float) -> int:
    """Open connections again and again; return how many were open.

    Half of them say nothing, the others begin a handshake.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ends, opened = time.monotonic() + seconds, 0

    async def one(said: bytes) -> None:
        nonlocal opened
        while (left := ends - time.monotonic()) > 0.0:
            with suppress(*_FAILED):
                reader, writer = await asyncio.open_connection(
                    _HOST, port, local_addr=(_ELSEWHERE, 0)
                )
                opened += 1
                writer.write(said)
                try:
                    await asyncio.wait_for(reader.read(), left)
                finally:
                    writer.close()
            await asyncio.sleep(max(min(_AGAIN_AFTER, ends - time.monotonic()), 0.0))

    asyncio.run(_all(one(_HELLO if number % 2 else b"") for number in range(many)))
    return opened


def _guessing(door: Door, port: int, seconds: float) -> int:
    """Try passwords; return how many were refused."""
    ends, context, tried = time.monotonic() + seconds, door.context(), 0

    async def one(number: int) -> None:
        nonlocal tried
        while time.monotonic() < ends:
            with suppress(*_FAILED):
                assert await _status(port, context, f"{number}-{tried}", _ELSEWHERE) in (401, 429)
                tried += 1
            await asyncio.sleep(_GUESS_EVERY)

    asyncio.run(_all(one(number) for number in range(GUESSERS)))
    return tried


def _scraping(door: Door, port: int, seconds: float) -> tuple[list[float], int]:
    """Scrape, all at the same instants; return how long each took, and how many got no page."""
    begins, context = time.monotonic(), door.context()
    took: list[float] = []
    refused = 0

    async def one() -> None:
        nonlocal refused
        for turn in range(int(seconds / _SCRAPE_EVERY)):
            began = begins + turn * _SCRAPE_EVERY
            await asyncio.sleep(max(began - time.monotonic(), 0.0))
            began = time.monotonic()
            status = 0
            with suppress(*_FAILED):
                status = await _status(port, context, PASSWORD, _HOST)
            took.append(time.monotonic() - began)
            refused += status != 200

    asyncio.run(_all(one() for _ in range(SCRAPERS)))
    return took, refused


async def _all(works) -> None:
    await asyncio.gather(*works)


async def _status(port: int, context: ssl.SSLContext, password: str, address: str) -> int:
    """Return the status of an answer, read to its end."""
    async with asyncio.timeout(_ANSWER_SECONDS):
        reader, writer = await asyncio.open_connection(
            _HOST, port, ssl=context, local_addr=(address, 0)
        )
        try:
            writer.write(
                f"GET /metrics HTTP/1.1\r\nHost: {_HOST}\r\nConnection: close\r\n"
                f"Authorization: {authorization(password)}\r\n\r\n".encode()
            )
            head = await reader.readuntil(b"\r\n")
            await reader.read()
        finally:
            writer.close()
    return int(head.split()[1])
