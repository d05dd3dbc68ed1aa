"""The broker's side: bytes come in, messages go on, and the broker hears of those that are durable.

The way of a message::

    wire ─bytes─> receiver ─rows─> inbox ─> source.receive() ─> decoded, paired, journalled
      ^              │ other packets          source.acknowledge() <─ committed
      └── session <──┘                                │
      └───────────────── PUBACK, PUBREC ──────────────┘

``fields``, ``properties``, ``packets``, ``encoding`` and ``decoding`` are MQTT 3.1.1 and 5 without
I/O: tables from bytes to types and back. ``receiver`` splits what a connection brings; ``wire`` is
the socket, with ``tls`` over memory buffers; ``session`` connects, subscribes, keeps alive and comes
back; ``source`` decides how long to let messages gather (``coalescing``) and is what the daemon
holds. ``publish`` sends messages for sinks and tools: it alone uses paho.

Why messages are columns. A broker that keeps up with sensors sends hundreds of messages a read, and
an object with a topic and a payload for each costs more than reading them. An :class:`~.inbox.Inbox`
keeps topics as numbers (``topic_index``) and payloads as places in the bytes that came
(``payload_slices``); a ``Message`` is made only for who asks for one. ``publish_parser`` finds the
messages of a large read by the column. It is an accelerator: what it cannot take it leaves to the
loop in ``receiver``, and tests hold both equal to ``decoding.decode`` packet by packet.

Invariants
* Nothing is acknowledged before it is durable, and only on the connection it came on: packet
  identifiers mean other messages on the next one. ``Receiver.generation`` counts connections.
* QoS 2: the message is handed over with its PUBLISH, PUBREC waits for the commit, PUBREL is answered
  at once. What comes twice in between is removed by the journal's identity, not by packet identifier.
* A peer may send any bytes: MalformedError ends the connection, nothing else can happen.
* A message beyond ``max_packet_bytes`` is not buffered, yet it is counted and acknowledged: it would
  be first in the queue at every connection otherwise. Back-pressure is not reading the socket.
* Network trouble is a state with a sentence (``status``); an exception only where trying again
  cannot help.

Tried and rejected: paho on the way in (ADR 6: nine private names, one acknowledgement a write, PUBREC
before anything is stored); an acknowledgement a message (a system call each); ssl.SSLSocket (two
system calls a record, and brokers send a record a message); waking up for every segment that comes
(see ``coalescing``).

What breaks first: brokers that stretch the standard. The decoder refuses what section 3 calls
malformed and is lenient elsewhere (DUP with QoS 0, codes it does not know, properties of PUBLISH are
skipped). A new complaint begins with ``status``: it names the packet and what is wrong with it.
"""
