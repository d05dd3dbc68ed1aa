"""What attacks broke once, what holds now, and the tests that show it."""

from __future__ import annotations

from typing import Final

from .catalogue import Row

_WRONG_CLOCK: Final = "faults/test_wrong_clock.py::"
_CONNECTIONS: Final = "http/test_server.py::"
_ACCESS: Final = "http/test_access.py::"
_LIMITS: Final = "mqtt/test_byte_limits.py::"
_PUBLISHER: Final = "daemon/test_publisher.py::"
_STATE: Final = "journal/test_opening.py::"

ATTACKS: Final = (
    Row(
        "one wrong reading of the clock erased the journal",
        "while the clock is in doubt nothing is deleted, and nothing refused as of the future",
        (
            _WRONG_CLOCK + "test_a_clock_years_ahead_for_a_while_erases_nothing",
            _WRONG_CLOCK + "test_a_start_with_a_clock_years_ahead_erases_nothing",
            _WRONG_CLOCK + "test_a_clock_that_is_behind_refuses_nothing",
        ),
    ),
    Row(
        "a late reference after an event brought old evidence back",
        "live state is restarted state; the daemon checks itself, and repairs what differs",
        (
            "core/state/test_network.py::test_a_late_reference_after_an_event_leaves_the_evidence_before_it_behind",
            "core/state/test_pipeline.py::test_lives",
            "daemon/test_self_check.py::test_one_bit_is_found_told_and_mended",
            "daemon/test_self_check.py::test_a_long_series_is_checked_in_steps_whatever_comes_between",
        ),
    ),
    Row(
        "late references made everything take minutes",
        "replays start from copies in memory; histories are read in one pass",
        (
            "core/detector/test_replay_costs.py::test_a_reference_that_is_late_reads_no_history_where_the_window_holds_its_past",
            "core/detector/test_replay_costs.py::test_an_event_after_all_pairs_reads_no_history_and_leaves_the_same_bits",
            "trial late",
        ),
    ),
    Row(
        "a reference whose nearest reading comes after it cost eight times as much",
        "a pair that moves replays a few pairs and reads no history",
        (
            "core/detector/test_replay_costs.py::test_a_live_reference_never_reads_the_history",
            "core/detector/test_replay_costs.py::test_a_live_reference_replays_a_few_pairs",
        ),
    ),
    Row(
        "redelivered messages without a time, or with other aliases, counted twice",
        "their packets are remembered until the broker has the acknowledgement",
        (
            "faults/test_once.py::test_what_comes_again_without_a_time_or_with_other_aliases_counts_once",
            "daemon/test_redeliveries.py::test_a_packet_without_a_time_that_comes_again_is_one_reading",
            "extensions/cluster/test_bridge.py::test_a_packet_without_a_time_that_comes_again_is_on_the_log_once",
        ),
    ),
    Row(
        "strangers who guess passwords kept Prometheus out",
        "who has been in is let in; guesses are limited by address",
        (
            _ACCESS + "test_whoever_has_been_in_is_let_in_however_many_try_passwords",
            _ACCESS + "test_who_tries_many_passwords_keeps_nobody_out_who_comes_from_elsewhere",
        ),
    ),
    Row(
        "long topics, births and large payloads took memory or blocked",
        "limits in bytes; refused names are not learnt; one note a node; a packet too large is "
        "skipped and counted",
        (
            _LIMITS + "test_long_topics_take_no_more_memory_than_short_ones",
            _LIMITS + "test_births_cost_what_is_read_of_them_and_one_note_a_node",
            "acceptance/test_bad_input.py::test_a_message_too_large_is_refused_once_and_never_comes_again",
        ),
    ),
    Row(
        "a journal that was removed while it was open acknowledged for nothing",
        "acknowledges nothing more, ends with exit 75",
        (
            _STATE
            + "test_a_journal_that_goes_while_it_is_open_acknowledges_nothing_and_ends_with_75",
            _STATE + "test_what_was_not_acknowledged_then_comes_to_the_next_daemon",
        ),
    ),
    Row(
        "one reference counted three times",
        "one meaning of a message, whatever reads it",
        (
            "acceptance/test_one_meaning.py::test_a_reference_with_seven_digits_that_comes_three_times_is_one",
        ),
    ),
    Row(
        "a server that drips held an attempt of the webhook",
        "the whole attempt has one bound",
        ("alerts/test_webhook.py::test_a_server_that_stalls_or_drips_costs_one_bounded_attempt",),
    ),
    Row(
        "an alert said `nan times`",
        "an estimate with one end is stated with that end",
        ("alerts/test_transition.py::test_an_estimate_with_one_end_alone_is_told_with_it",),
    ),
    Row(
        "a web page could read a daemon on loopback by its own name",
        "foreign host names get 421",
        ("http/test_host_names.py::test_a_foreign_name_is_refused_on_loopback_with_what_to_set",),
    ),
    Row(
        "a refused method was answered without HEAD among those allowed",
        "`Allow: GET, HEAD`",
        ("http/test_application.py::test_nothing_can_be_changed",),
    ),
    Row(
        "a deleted log of the journal opened empty without a word",
        "refused with exit 65 until the log is back or a repair is requested",
        (
            "journal/test_log_end.py::test_a_log_that_is_gone_is_told_until_a_repair",
            "journal/test_log_end.py::test_the_file_of_a_running_daemon_alone_is_no_copy",
        ),
    ),
    Row(
        "the state folder was open to everybody on the machine",
        "it is made for its owner and group",
        (_STATE + "test_others_may_not_look_into_the_folder_that_is_made",),
    ),
    Row(
        "the same settings elsewhere took over the session",
        "each journal has a client identifier of its own; a takeover is reported by name",
        (
            "daemon/test_assembly.py::test_the_same_settings_with_another_journal_take_nothing_over",
            "daemon/test_assembly.py::test_a_takeover_is_told_with_the_name",
        ),
    ),
    Row(
        "ten hang-ups ended with a certainty that nobody had; an unknown PUBACK code was fatal",
        "says that it is not sure; an unknown code is a refusal in words",
        (
            "mqtt/test_publish.py::test_many_hang_ups_end_with_a_sentence_that_does_not_claim_to_be_sure",
            "mqtt/test_publish.py::test_a_reason_code_that_no_standard_knows_is_a_refusal_in_words",
        ),
    ),
    Row(
        "a hundred scrapers at the same instant were refused beside strangers; connections without "
        "a handshake took a quarter of a megabyte each",
        "they are answered; a handshake has a place too; a client too many takes one from the "
        "address with the most",
        (
            _CONNECTIONS
            + "test_a_hundred_who_come_at_the_same_instant_as_strangers_are_all_answered",
            _CONNECTIONS + "test_clients_that_end_no_handshake_take_no_more_places_than_others",
            _CONNECTIONS
            + "test_who_has_asked_is_answered_while_strangers_that_say_nothing_push_each_other_out",
            "trial crowd",
        ),
    ),
    Row(
        "200 000 messages that waited at a start held up every publication for 45 s",
        "a publication has as much time as the messages; `/readyz` says what is missing",
        (
            "daemon/test_loop.py::test_no_page_is_older_than_two_intervals_however_much_waits",
            _PUBLISHER + "test_a_page_says_what_is_missing_while_more_waits_than_a_read_takes",
            "trial backlog",
        ),
    ),
    Row(
        "seventy readers that do not read took /metrics away",
        "no answer waits for another's reader; one that takes nothing for 5 s is closed",
        (
            _CONNECTIONS + "test_whoever_reads_has_the_metrics_while_seventy_do_not_read",
            _CONNECTIONS + "test_a_reader_that_takes_nothing_is_closed_and_a_slow_one_is_not",
            _CONNECTIONS
            + "test_no_address_has_more_than_a_quarter_of_the_places_while_others_wait",
        ),
    ),
    Row(
        "a formula for u such as `3999999**3999999`, or a text with a format for a gigabyte, hung "
        "`check-config` and the daemon",
        "formulas are of floats alone; one that fails whatever the value is refused at the start",
        (
            "decode/test_uncertainty.py::test_hostile_formulas_and_layouts_are_refused_by_check_config_and_cost_nothing",
        ),
    ),
    Row(
        "a gzip file of 3 MB with one line of 3 GB filled memory",
        "a line has at most 64 MiB; XML has limits of bytes, depth and elements, and no entities",
        (
            "files/test_input_file.py::test_a_line_without_end_is_refused_before_it_fills_memory",
            "extensions/certificates/test_safe_xml.py::test_what_is_not_read_has_its_line",
        ),
    ),
    Row(
        "the time of a refusal told which names there are where users' hashes cost differently",
        "an attempt costs the same work whoever it names",
        (_ACCESS + "test_an_attempt_costs_the_same_work_whoever_it_names",),
    ),
)
