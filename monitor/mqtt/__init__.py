"""The broker's side: bytes in, messages out, and acknowledgements once messages are durable.

The way of a message::

    wire ─bytes─> receiver ─rows─> inbox ─> source.receive() ─> decoded, paired, journalled
      ^              │ other packets          source.acknowledge() <─ committed
      └── session <──┘                                │
      └───────────────── PUBACK, PUBREC ──────────────┘

``primitives``, ``packets`` and ``codec`` are MQTT 3.1.1 and 5 without I/O: tables from bytes to
types and back. ``receiver`` splits the bytes of a connection; ``wire`` is the socket, which
``dialling`` connects, with ``tls`` over memory buffers and ``websocket`` frames inside; ``session``
connects, subscribes, keeps the connection alive and reconnects; ``source`` decides how long
messages may gather (``pacing``) and is the object that the daemon holds. ``publish`` sends messages
for sinks and tools; only it uses paho.

Why messages are columns: a broker sends hundreds of messages per read, and creating an object for
each costs more than reading it. An :class:`~.inbox.Inbox` keeps topics as numbers and payloads as
positions in the received bytes; it makes a ``Message`` only on request. ``publish_parser`` finds
the messages of a large read by columns. It is an accelerator: what it cannot take it leaves to the
loop in ``receiver``, and tests hold both equal to ``codec.decode``, packet by packet.

Invariants
* Nothing is acknowledged before it is durable, and only on the connection it came on: on the next
  one its packet identifier means another message. ``Receiver.generation`` counts connections.
* QoS 2: a message is handed over with its PUBLISH, PUBREC waits for the commit, and PUBREL is
  answered at once. A PUBLISH that is repeated in between is removed by the journal's identity of
  the observation, not by its packet identifier.
* A peer may send any bytes: MalformedError ends the connection, and nothing else can happen.
* A message beyond ``max_packet_bytes`` is not buffered, yet it is counted and acknowledged:
  otherwise it would come first at every connection. For back-pressure, the socket is not read.
* Network trouble is a state with a sentence (``status``); it is an exception only if another
  attempt cannot help.

Tried and rejected: paho for receiving (ADR 6: nine private names, PUBREC before anything is
stored); one write per acknowledgement (a system call per message); ssl.SSLSocket (two system calls
per record, and brokers send one record per message); waking up for every segment (see ``pacing``);
a commit and PUBRECs after every read at QoS 2 (ten messages a commit in place of the twenty that a
broker lets be under way; a message costs some 5 % more).

What breaks first: brokers that stretch the standard. The decoder refuses what the standard calls
malformed, and is lenient elsewhere: DUP with QoS 0, unknown reason codes, and properties of
PUBLISH, which it skips. Start at ``status``: it names the packet and what is wrong with it.
"""
