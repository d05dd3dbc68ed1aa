"""Fuzzing: inputs that once broke something, a share of new ones, and that the fuzzer finds."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
from collections import Counter

import pytest
from fuzz import campaign, guards
from fuzz.campaign import Plan, fuzz, inputs
from fuzz.corpus import corpus, kept_in, line_of
from fuzz.examining import Fault, examine, minimised
from fuzz.invariants import BrokenError, check_refusal
from fuzz.targets import TARGETS, WEB, Outcome, Target

from monitor.decode import DECODERS, Rejected
from monitor.decode.paths import Fetchers
from monitor.decode.records import splitter

KEPT = list(corpus())
INPUTS_A_DECODER = 2000
ACCEPTED = {"Reading", "Reference", "Event", "Collocation"} | {
    "template", "converted", "settings", "served",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _watched():
    with guards.alarm():
        yield


@pytest.fixture(scope="module", autouse=True)
def _closed():
    yield
    WEB.close()


def test_every_decoder_is_fuzzed_and_has_inputs_that_are_kept():
    assert {target.decoder for target in TARGETS.values()} >= set(DECODERS)
    assert {kept.target for kept in KEPT} == set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_of_a_target_are_good_inputs(name):
    words = TARGETS[name].run(TARGETS[name].seeds[0]).words

    assert words & ACCEPTED


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_give_what_they_gave_when_they_were_kept(name):
    for kept in KEPT:
        if kept.target == name:
            outcome = examine(TARGETS[name], kept.raw)

            assert isinstance(outcome, Outcome), (kept.why, outcome)
            assert outcome.words == kept.gives, kept.why


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_inputs_break_nothing(name):
    target = TARGETS[name]
    beside = [each for each in TARGETS.values() if each.decoder == target.decoder]
    many = int(INPUTS_A_DECODER * target.share / len(beside))
    words: Counter[str] = Counter()

    for raw, pool, chance in itertools.islice(inputs(name, "tests"), many):
        outcome = examine(target, raw)
        assert isinstance(outcome, Outcome), (raw, outcome)
        pool.learn(chance, raw, outcome.novelty)
        words.update(outcome.words)

    assert set(words) & ACCEPTED
    assert set(words) - ACCEPTED


def test_one_seed_gives_the_same_inputs_and_another_one_others():
    first, again, other = (
        [raw for raw, *_ in itertools.islice(inputs("senml-cbor", seed), 50)]
        for seed in ("1", "1", "2")
    )

    assert first == again
    assert first != other


# -- the fuzzer finds what is planted -------------------------------------------------------------


def planted(run):
    def outcome(raw):
        run(raw)
        return Outcome(frozenset({"good"}), len(raw), len(raw))

    return Target("planted", outcome, (b"a 1 b 22 c 333",), (b"x", b"\xff", b"77"))


def raises(raw):
    if b"x" in raw:
        raise KeyError(raw)


def hangs(raw):
    while b"x" in raw:
        pass


def test_an_exception_is_a_fault_and_its_input_is_made_small():
    target = planted(raises)

    fault = examine(target, b"long x input")

    assert isinstance(fault, Fault)
    assert fault.kind == "raised KeyError"
    assert minimised(target, b"long x input", fault.kind) == b"x"


def test_a_hang_is_a_fault(monkeypatch):
    monkeypatch.setattr(guards, "SECONDS_MAX", 0.05)

    fault = examine(planted(hangs), b"x")

    assert isinstance(fault, Fault)
    assert fault.kind.startswith("too long")


def test_another_result_for_the_same_input_is_a_fault():
    chance = random.Random(1)
    target = planted(raises)._replace(run=lambda _: Outcome(frozenset(), chance.random(), 0))

    fault = examine(target, b"")

    assert isinstance(fault, Fault)
    assert "another result" in fault.kind


@pytest.mark.parametrize(
    "refused",
    [Rejected("unexpected", "x"), Rejected("no such reason", "x"), Rejected("unit", ""),
     Rejected("unit", "\ud800")],
)  # fmt: skip
def test_a_refusal_that_is_none_is_broken(refused):
    with pytest.raises(BrokenError):
        check_refusal(refused)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (raises, "raised KeyError"),
        (lambda raw: os.kill(os.getpid(), signal.SIGKILL) if b"x" in raw else None, "(-9)"),
        # More than the heap of any test process has free: only new memory is limited.
        (lambda raw: bytearray(1 << 34) if b"x" in raw else None, "raised MemoryError"),
    ],
    ids=["exception", "killed", "memory"],
)
def test_a_campaign_finds_what_is_planted_and_goes_on(run, kind, monkeypatch):
    monkeypatch.setitem(campaign.TARGETS, "planted", planted(run))
    monkeypatch.setattr(campaign, "_RESTARTS_MAX", 1)
    found = {}

    tally = fuzz(Plan(["planted"], "1", 600, float("inf")), 1, found)

    (finding,) = found.values()
    assert kind in finding.fault.kind
    assert b"x" in finding.raw
    assert tally.inputs["planted"] in (0, 600)


def test_a_finding_is_written_as_a_line_of_the_corpus(tmp_path):
    for raw in (b"text", b"\xff\x00", "\u00b5\n".encode()):
        file = tmp_path / "f.jsonl"
        file.write_text(line_of("units", raw, "why") + "\n")

        (kept,) = kept_in(file)

        assert (kept.target, kept.raw, kept.why) == ("units", raw, "why")


# -- splits, which once tried every way there is ---------------------------------------------------


def test_a_split_gives_what_a_greedy_pattern_gives():
    chance = random.Random(3)
    split_there = 0
    for _ in range(3000):
        plain = ["".join(chance.choices(".b", k=chance.choice((0, 1, 1, 2)))) for _ in range(4)]
        template = "{x}".join(plain).replace("{x}", "{a}", 1).replace("{x}", "{c}", 1)
        template = template.replace("{x}", "{d}")
        text = "".join(chance.choices(".bc", k=chance.randrange(1, 9)))
        split = splitter("$", template, Fetchers({}, number_texts=False), ("names", "$"))
        fields = {}
        expected = re.fullmatch("(.+)".join(map(re.escape, plain)), text)
        if expected is None:
            with pytest.raises(Rejected, match="bad_name"):
                split(text, text, fields)
        else:
            split(text, text, fields)
            split_there += 1
            assert tuple(fields.values()) == expected.groups(), (template, text)

    assert split_there > 50
