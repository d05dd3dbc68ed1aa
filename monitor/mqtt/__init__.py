"""The broker's side: bytes come in, messages go on, and the broker hears of those that are durable.

The way of a message::

    wire ─bytes─> receiver ─rows─> inbox ─> source.receive() ─> decoded, paired, journalled
      ^              │ other packets          source.acknowledge() <─ committed
      └── session <──┘                                │
      └───────────────── PUBACK, PUBREC ──────────────┘

``primitives``, ``packets`` and ``codec`` are MQTT 3.1.1 and 5 without I/O: tables from bytes to
types and back. ``receiver`` splits what a connection brings; ``wire`` is the socket, with ``tls``
over memory buffers and ``websocket`` frames inside; ``session`` connects, subscribes, keeps the
connection alive and comes back; ``source`` decides how long messages may gather (``pacing``) and is
what the daemon holds. ``publish`` sends messages for sinks and tools; it alone uses paho.

Why messages are columns: a broker sends hundreds of messages a read, and an object for each costs
more than reading it. An :class:`~.inbox.Inbox` keeps topics as numbers and payloads as places in
the bytes that came; a ``Message`` is made only when somebody asks for one. ``publish_parser`` finds
the messages of a large read by the column. It is an accelerator: what it cannot take it leaves to
the loop in ``receiver``, and tests hold both equal to ``codec.decode``, packet by packet.

Invariants
* Nothing is acknowledged before it is durable, and only on the connection it came on: on the next
  one its packet identifier means another message. ``Receiver.generation`` counts connections.
* QoS 2: a message is handed over with its PUBLISH, PUBREC waits for the commit, and PUBREL is
  answered at once. A PUBLISH that is repeated in between is removed by the journal's identity of
  the observation, not by its packet identifier.
* A peer may send any bytes: MalformedError ends the connection, and nothing else can happen.
* A message beyond ``max_packet_bytes`` is not buffered, yet counted and acknowledged: otherwise it
  would come first at every connection. Back-pressure is not reading the socket.
* Network trouble is a state with a sentence (``status``), and an exception only where trying again
  cannot help.

Tried and rejected: paho for receiving (ADR 6: nine private names, PUBREC before anything is
stored); one write per acknowledgement (a system call a message); ssl.SSLSocket (two system calls a
record, and brokers send a record a message); waking up for every segment (see ``pacing``).

What breaks first: brokers that stretch the standard. The decoder refuses what the standard calls
malformed, and is lenient elsewhere: DUP with QoS 0, unknown reason codes, and properties of
PUBLISH, which it skips. Start at ``status``: it names the packet and what is wrong with it.
"""
