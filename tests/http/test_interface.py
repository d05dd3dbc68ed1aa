"""The JSON interface refuses what it does not know, and its description is true."""

from __future__ import annotations

import json

import jsonschema
import pytest
from harness.http_service import document, get, page, published
from harness.yard import fleet

from monitor.config import parse, settings_hash, shown_settings
from monitor.journal import DeadLetter


def test_series_are_filtered_sorted_and_paged_by_the_query(service):
    snapshot = fleet(1000)
    published(service, snapshot)
    firing = [f"node-{row:05}" for row, state in enumerate(snapshot.states) if state == "firing"]
    evidence = dict(zip((name.sensor for name in snapshot.names), snapshot.evidence, strict=True))

    found = document(service, "/api/v1/series?state=firing&sort=-evidence&rows=10&page=2")
    assert (found["matching"], found["page"]) == (len(firing), 2)
    assert found["pages"] == -(-len(firing) // 10)
    assert found["states"]["firing"] == len(firing)
    assert [each["sensor"] for each in found["series"]] == (
        sorted(firing, key=lambda sensor: -evidence[sensor])[10:20]
    )
    beyond = document(service, "/api/v1/series?state=firing&rows=10&page=1000")
    assert (beyond["series"], beyond["page"], beyond["pages"]) == ([], 1000, found["pages"])
    of_group = document(service, "/api/v1/series?group=model-3&text=NODE-000")
    assert {each["group"] for each in of_group["series"]} == {"model-3"}
    assert of_group["matching"] == sum(row % 7 == 3 for row in range(100))
    assert len(document(service, "/api/v1/series")["series"]) == 1000


@pytest.mark.parametrize(
    "query", ["sort=secret", "state=broken", "page=0", "page=x", "rows=100000", "text=" + "x" * 300]
)
@pytest.mark.parametrize("path", ["/", "/api/v1/series"])
def test_a_query_that_cannot_be_is_refused_in_words(path, query, service):
    service.publish(page())
    status, body, headers = get(service, f"{path}?{query}")

    assert status == 422
    assert b"the address asks for something impossible" in body
    assert headers["Content-Type"].startswith(
        "text/html" if path == "/" else "application/problem+json"
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/v1/series?stat=firing", ("'stat'", "group, page, rows, sort, state, text")),
        ("/api/v1/doctor?a=1&b=2", ("'a', 'b'", "it has none")),
        ("/api/v1/compare?quantty=mass", ("'quantty'", "quantity")),
    ],
)
def test_a_parameter_that_nobody_knows_is_refused_with_the_known_ones(path, words, service, yard):
    status, body, _ = get(service, path)

    assert status == 422
    assert all(word in json.loads(body)["detail"] for word in words), body


def test_the_settings_in_force_have_their_hash_and_no_credentials(service):
    text = """
mqtt: {host: broker.example, username: herd, password_env: SECRET_PLACE}
groups: [{name: yard, sensors: ["cart-*"]}]
"""
    settings = parse(text.encode(), "settings")
    shown = shown_settings(settings)
    published(service, fleet(1), settings=shown, settings_hash=settings_hash(settings))
    body = get(service, "/api/v1/settings")[1]
    found = json.loads(body)

    assert found["settings"]["mqtt"]["host"] == "broker.example"
    assert found["settings"]["groups"][0]["name"] == "yard"
    assert found["hash"] == settings_hash(settings)
    for secret in (b"herd", b"SECRET_PLACE", b"password", b"username"):
        assert secret not in body
        assert secret not in get(service, "/about")[1].replace(b"passwords", b"")


def test_the_description_of_the_interface_is_true(service, yard):
    description = document(service, "/api/v1/openapi.json")
    pair = document(service, "/api/v1/series/cart-01/mass/pairs?limit=1")["pairs"][0]
    yard.letters = (DeadLetter(1.0, "a/b", "bad_payload", "", "", b"x"),)
    yard.publish()
    names = {"sensor": "cart-01", "quantity": "mass", "key": pair["key"]}

    assert description["openapi"].startswith("3.")
    for path, operations in description["paths"].items():
        assert set(operations) == {"get"}, path
        answer = document(service, path.format(**names))
        said = operations["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        schema = {**said, "components": description["components"]}
        jsonschema.validate(answer, schema)
        model = description["components"]["schemas"][said["$ref"].rpartition("/")[2]]
        if model["title"] != "Doctor":
            assert set(answer) <= set(model["properties"]), path
    assert len(description["paths"]) >= 9
