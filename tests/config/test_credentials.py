"""Secrets in settings: from a file or the environment, and never shown."""

from __future__ import annotations

import pytest

from monitor.config import SettingsError, load, parse, resolve_secret
from tests.config.test_connections import CANARY
from tests.config.test_settings import settings_of


def test_name_and_password_come_from_the_environment():
    found = resolve_secret(
        settings_of("mqtt: {username_env: U, password_env: P}"),
        environment={"U": "me", "P": CANARY},
    )

    assert (found.username, found.password.get_secret_value()) == ("me", CANARY)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n\n"])
def test_a_password_file_loses_the_ends_of_its_line_and_nothing_else(tmp_path, ending):
    (tmp_path / "p").write_bytes(f" {CANARY} {ending}".encode())

    found = resolve_secret(settings_of(f"mqtt: {{username: me, password_file: {tmp_path}/p}}"))

    assert (found.username, found.password.get_secret_value()) == ("me", f" {CANARY} ")


def test_a_mark_that_some_editors_write_before_a_text_is_no_part_of_a_password(tmp_path):
    (tmp_path / "p").write_bytes(f"{CANARY}\r\n".encode("utf-8-sig"))

    found = resolve_secret(settings_of(f"mqtt: {{username: me, password_file: {tmp_path}/p}}"))

    assert found.password.get_secret_value() == CANARY


def test_a_relative_password_file_is_looked_for_among_systemds_credentials_first(tmp_path):
    (tmp_path / "broker").write_text(CANARY)

    found = resolve_secret(
        settings_of("mqtt: {password_file: broker}"),
        environment={"CREDENTIALS_DIRECTORY": str(tmp_path)},
    )

    assert found.password.get_secret_value() == CANARY


def test_without_it_a_relative_password_file_is_in_the_folder_of_the_settings(tmp_path):
    settings = parse(b"mqtt: {password_file: broker}", f"{tmp_path}/mine/monitor.yaml")
    there, here = tmp_path / "credentials", tmp_path / "mine"
    for folder, word in ((here, "here"), (there, "there")):
        folder.mkdir()
        environment = {"CREDENTIALS_DIRECTORY": str(there)}
        (folder / "broker").write_text(word)
        assert resolve_secret(settings, "", environment).password.get_secret_value() == word


def test_a_secret_is_in_no_repr_and_no_dump(tmp_path):
    (tmp_path / "p").write_text(CANARY)
    read = settings_of(f"mqtt: {{password_file: {tmp_path}/p}}")
    found = resolve_secret(read)

    assert CANARY not in f"{found} {found!r} {read!r} {read.model_dump_json()}"


def test_missing_secrets_are_mistakes_at_their_place_all_at_once(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(f"mqtt:\n  username_env: NO_SUCH_NAME\n  password_file: {tmp_path}/none\n")

    with pytest.raises(SettingsError) as caught:
        resolve_secret(load(file), file, {})

    name, password = caught.value.lines()
    assert name.startswith(f"{file}:2:17: mqtt.username_env: the environment variable NO_SUCH_NAME")
    assert password.startswith(f"{file}:3:18: mqtt.password_file: '{tmp_path}/none' cannot be read")


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "is empty"), (b"\n", "is empty"), (b"\xff\xfe", "not UTF-8"), (b"x" * 65_536, "longer")],
)
def test_a_password_file_that_holds_no_password_is_a_mistake(tmp_path, content, words):
    (tmp_path / "p").write_bytes(content)
    read = settings_of(f"mqtt: {{password_file: {tmp_path}/p}}")

    with pytest.raises(SettingsError, match=words):
        resolve_secret(read)
