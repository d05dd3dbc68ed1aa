"""The HTTP service: metrics, health, the JSON interface and the pages. It only reads.

What and why
    One thread with an event loop answers from the last published page (``published``), an
    immutable value. The data's thread replaces the page and continues; it never waits for a
    reader, and a reader never sees half of a round. Answers are rendered on request: a page of
    metrics with a million samples costs nothing if no Prometheus asks for it.

Where things are
    ``service`` runs the server: ``access`` says who may read, ``server`` adds limits,
    passwords and dates to uvicorn. ``application`` puts the routes together: metrics,
    health, ``interface`` (/api/v1), ``pages`` and ``server_sent_events``. Routes know
    ``published`` and nothing of the service; through it they request data that are too large to
    publish for everybody. ``answers`` has what all routes need. ``models`` has the members of the
    JSON documents that ``documents`` makes, ``rankings`` those of rankings; verdicts, comparisons
    and transitions have theirs in their own rooms, because files and sinks publish them too.
    ``text_format`` writes metrics: the series' of ``metrics``, the daemon's of ``telemetry``, the
    cluster's; ``process_metrics`` has the rest. ``rendering`` fills the templates and makes links
    of the pages of documentation that sentences name; ``lines``, ``plots``, ``signal_plots``,
    ``ucc_plots``, ``fleet_picture``, ``figures``, ``svg`` and ``label_places`` draw for people.

Invariants
    * GET and HEAD only; nothing is changed over HTTP, no path from a client names a file.
    * No answer waits longer than five seconds, nor for another's reader; every wait for a head or
      a reader has a limit, and if there are too many connections the largest address gives one.
    * Everything on a page that came from outside is escaped; the policy forbids any script, style
      and host but our own. A page is complete without its script.
    * On /metrics an undefined number is an absent sample, labels are bounded, and a series that
      stopped is withdrawn. Only the lines of numbers that changed are written anew.
    * A refusal is a sentence that says what to do, as JSON for programs and as a page for people.

Tried and rejected
    * prometheus_client for the series: a page of 10^6 samples took longer than Prometheus waits.
      It still collects the process and its garbage collector.
    * Models of pydantic for the answers, built and checked for each of ten thousand series. The
      documents are typed dictionaries, held to their members by mypy and described by FastAPI.
    * A library for hover and zoom (uPlot, Observable Plot). Both draw by themselves: the static
      drawings, which can be printed, are part of reports and need no script, would be drawn a
      second time by other code, from data sent a second time; Plot also wants style attributes,
      which the policy forbids. ``static/plots.js`` makes the same drawings interactive in some 200
      lines.
    * Rendering at every publication: most pages were never read.
    * Turns for answers, 64 at a time: as many readers that do not read took the page away.
    * uvicorn's ``limit_concurrency``: when strangers hold so many connections, all others get 503.
    * uvicorn's own loop: it wakes ten times a second to check whether it must end (``server``).

What breaks first
    The pages of a large fleet: a page of a thousand lines has a thousand rendered lines
    whenever one of them changes the order. Then live streams: at most an eighth of
    ``http.max_connections``; further readers are asked to try again later.
"""
