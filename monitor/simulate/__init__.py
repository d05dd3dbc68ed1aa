"""Simulated fleets with known faults, the broker of the demonstration, and playback of recordings.

`carts` simulates carts that weigh cattle, each with a known fault or none, and a yard whose scale
is gone; `forces` is a walk-over scale with a published estimator whose interval is wrong; `trades`
imitates the devices of three trades. `playback` turns observations into native messages, paced by
their event times. `demo_broker` runs nats-server as an MQTT broker on loopback.

Invariants: what a simulated sensor sends depends on the seed and the number of the animal alone,
not on when or how often it is asked, so tests compare against exact truth. The generator handed in
is the only source of randomness; no simulation reads a clock or opens a socket. Numbers are
written in their shortest exact form, so that a decoder gets the same bits. The demo broker listens
on loopback only and never outlives the process (docs/adr/0002).

Considered and rejected: requiring a broker for the demonstration, or writing one (docs/adr/0002);
noise from one generator for all (results would depend on the order of calls).

What breaks first: nats-server speaks MQTT 3.1.1 only; features of MQTT 5 need a broker of your
own.
"""
