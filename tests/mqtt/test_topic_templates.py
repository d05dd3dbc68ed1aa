"""Topic templates: what they subscribe to, which topics they match, and which are refused."""

from __future__ import annotations

import itertools
import re
import unicodedata
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import topic_matches_sub

from monitor.mqtt.topic_templates import (
    Template,
    TemplateError,
    covers,
    topics_of,
    valid_name,
)

LEVELS = st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), max_size=6)
TEMPLATE_LEVELS = st.sampled_from(["a", "b", "$x", "{sensor}", "{farm}", "+", "#", "a.b", "é", ""])


def matches_as_a_broker_does(topic_filter: str, topic: str) -> bool:
    """Return what MQTT 5 section 4.7 says of a filter and a topic, level by level."""
    wanted, given_levels = topic_filter.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False
    for at, level in enumerate(wanted):
        if level == "#":
            return True
        if at >= len(given_levels) or level not in ("+", given_levels[at]):
            return False
    return len(wanted) == len(given_levels)


def test_fields_become_wildcards_in_the_filter():
    template = Template.parse("wow/{farm}/{race}/{sensor}/reading")

    assert template.filter == "wow/+/+/+/reading"
    assert template.names == ("farm", "race", "sensor")


def test_a_topic_gives_its_fields_by_name():
    template = Template.parse("wow/{farm}/+/{sensor}/reading")

    assert template.match("wow/otago/x/p03/reading") == {"farm": "otago", "sensor": "p03"}


@pytest.mark.parametrize(
    "topic",
    ["wow/p03", "wow/p03/reading/x", "xwow/p03/reading", "wow/p03/readings", "wow/p03/reading\n"],
)
def test_a_topic_of_another_shape_does_not_match(topic):
    assert Template.parse("wow/{sensor}/reading").match(topic) is None


def test_plain_levels_are_no_regular_expressions():
    template = Template.parse("a.b/{sensor}/(x)")

    assert template.match("a.b/s/(x)") == {"sensor": "s"}
    assert template.match("aXb/s/(x)") is None


def test_a_field_may_hold_anything_and_its_validity_is_another_question():
    fields = Template.parse("a/{sensor}").match('a/x\n"<script>')

    assert fields == {"sensor": 'x\n"<script>'}
    assert not valid_name(fields["sensor"])


@pytest.mark.parametrize(
    ("text", "wanted", "topic"),
    [
        ("/devices/{sensor}/controls/Mass", "/devices/+/controls/Mass", "/devices/s/controls/Mass"),
        ("site//{sensor}/", "site//+/", "site//s/"),
        ("/{sensor}", "/+", "/s"),
    ],
)
def test_an_empty_level_is_a_level_as_in_mqtt(text, wanted, topic):
    template = Template.parse(text)

    assert template.filter == wanted
    assert template.match(topic) == {"sensor": "s"}
    assert template.match(f"/{topic}") is None
    assert template.match(topic.replace("/", "", 1)) is None


@pytest.mark.parametrize("topic", ["a/s", "a/s/b", "a/s/b/c", "a/s/"])
def test_a_last_hash_takes_all_that_follows_and_nothing(topic):
    assert Template.parse("a/{sensor}/#").match(topic) == {"sensor": "s"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "at least one level"),
        ("a/{}", "no name"),
        ("a/{Sensor}", "is not a field"),
        ("a/{sen sor}", "is not a field"),
        ("a/{x}/{x}", "appears twice"),
        ("a/x{sensor}", "must fill its level"),
        ("a/{sensor}{farm}", "must fill its level"),
        ("a/b+", "must fill its level"),
        ("a/b#", "must fill its level"),
        ("a/#/b", "must be the last level"),
        ("a/{sensor", "must fill its level"),
        ("a/\x00", "printable"),
        ("$share/g/a/{sensor}", "shared subscription"),
        ("a" * 1001, "at most 1000"),
    ],
)
def test_a_bad_template_is_refused_with_a_sentence(text, sentence):
    with pytest.raises(TemplateError, match=re.escape(sentence)):
        Template.parse(text)


@given(st.lists(TEMPLATE_LEVELS, min_size=1, max_size=5), st.lists(LEVELS, min_size=1, max_size=5))
def test_a_template_matches_what_a_broker_would_send_for_its_filter(levels, topic_levels):
    try:
        template = Template.parse("/".join(levels))
    except TemplateError:
        return
    pieces = [
        given if level.startswith(("{", "+", "#")) else level
        for level, given in zip(levels, topic_levels, strict=False)
    ]

    for topic in ("/".join(topic_levels), "/".join(pieces)):
        matched = template.match(topic) is not None
        assert matched == matches_as_a_broker_does(template.filter, topic)


@given(st.text())
def test_any_text_is_a_template_or_is_refused(text):
    with suppress(TemplateError):
        template = Template.parse(text)
        assert template.text == text
        assert len(template.filter.split("/")) == len(text.split("/"))


@given(st.text(max_size=140))
def test_a_valid_name_is_what_one_level_of_a_topic_holds(name):
    directions = {"\u061c", *map(chr, [*range(0x200E, 0x2010), *range(0x202A, 0x202F)])}
    directions |= set(map(chr, range(0x2066, 0x206A)))
    fits = not any(
        each in "/+#\ufffe\uffff"
        or each in directions
        or unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")
        for each in name
    )

    assert valid_name(name) == (1 <= len(name) <= 128 and fits)


@pytest.mark.parametrize(
    "name",
    ["p03", "AT-4012", "a:b.c_d", "x" * 128, "Küche Süd", "Datastreams(1)", "٣", "気温", "🌡"],
)
def test_usual_names_are_valid(name):
    assert valid_name(name)


@pytest.mark.parametrize("name", ["", "a\n", "a/b", "+", "a#", "x" * 129, "\x1b[2J", "\u202egnp"])
def test_names_that_no_level_can_hold_or_that_move_the_cursor_are_not_valid(name):
    assert not valid_name(name)


def test_topics_of_messages_are_a_sequence_of_them():
    sent = ["b", "a", "b", "c"]
    topics = topics_of(sent)

    assert list(topics) == sent
    assert topics.names == ["b", "a", "c"]
    assert [topics[at] for at in range(-4, 4)] == sent + sent
    assert list(topics[1:3]) == ["a", "b"]
    assert topics.part(np.array([3, 0])) == ["c", "b"]
    assert topics_of(topics) is topics
    assert list(topics_of([])) == []


def test_a_filter_covers_another_if_it_matches_all_of_its_topics():
    levels = ["a", "b", "c", "$x"]
    paths = ["/".join(each) for n in (1, 2, 3) for each in itertools.product(levels, repeat=n)]
    wild = ["a", "b", "+"]
    filters = ["/".join(each) for n in (1, 2) for each in itertools.product(wild, repeat=n)]
    filters += [f"{each}/#" for each in filters if each != "+"]  # +/# is #
    filters += ["#", "$x/a", "$x/#", "$x/+"]
    matched = {of: {path for path in paths if topic_matches_sub(of, path)} for of in filters}

    for wide, narrow in itertools.product(filters, repeat=2):
        assert covers(wide, narrow) == (matched[narrow] <= matched[wide]), (wide, narrow)
