"""What may go wrong, what the daemon does then, and the tests that show it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Row(NamedTuple):
    """A failure, the behaviour, and tests as ``file::test`` or trials as ``trial NAME``."""

    failure: str
    behaviour: str
    shown_by: tuple[str, ...]


_MQTT = "mqtt/test_connection.py::"
_RARE = "faults/test_rare.py::"
_KEPT = "journal/test_kept_forms.py::"

CATALOGUE: Final = (
    Row(
        "the broker restarts and keeps its sessions",
        "comes back within 30 s, with jitter; nothing lost or twice",
        ("trial restarts", "trial seeds"),
    ),
    Row(
        "the broker lost the session",
        "subscribes anew, counts it (`monitor_session_lost_total`), logs it",
        ("mqtt/test_source.py::test_a_lost_session_is_counted",),
    ),
    Row(
        "the network swallows everything, half-open connections",
        "seen within one and a half keepalives, `/readyz` says 503, then comes back",
        ("trial partitions", "trial half-open"),
    ),
    Row(
        "no CONNACK or SUBACK",
        "gives up after 15 and 10 s and tries again",
        (
            "mqtt/test_session.py::test_a_broker_that_does_not_answer_is_given_up_and_tried_again",
            "trial deaf broker",
        ),
    ),
    Row(
        "a subscription is refused or granted a lower QoS",
        "ends with exit 78 and the filter's name at the start; not ready when it happens later",
        (
            _MQTT + "test_a_downgraded_subscription_is_refused_with_the_filters_name",
            _RARE + "test_a_subscription_refused_later_is_not_ready_and_not_the_end",
        ),
    ),
    Row(
        "the broker's access list denies in silence",
        "the age of the last message is exported per filter, with an alert",
        (
            _RARE + "test_a_list_that_denies_in_silence_shows_as_a_filter_that_grows_old",
            "deploy/test_alerts.py::test_every_alert_is_seen_to_fire_and_not_to",
        ),
    ),
    Row(
        "ten times the messages",
        "reads at its own pace, memory bounded, pages go on",
        ("trial too much",),
    ),
    Row(
        "a board with 512 MB for daemon and broker",
        "both fit, also while 200 000 messages wait and after a restart",
        ("trial small board",),
    ),
    Row(
        "many clients come back at once",
        "full jitter up to 30 s",
        (_MQTT + "test_attempts_are_spread_by_full_jitter",),
    ),
    Row(
        "a message comes twice: DUP, a publisher that is not sure",
        "one effect; the key is made durable with it, without a time the packet",
        (
            "acceptance/test_trades.py::test_everything_twice_gives_the_same_bits",
            "faults/test_once.py::test_what_comes_again_without_a_time_or_with_other_aliases_counts_once",
            "trial seeds",
        ),
    ),
    Row(
        "messages out of order",
        "the same bits as in order",
        ("core/state/test_network.py::test_shuffled_and_repeated_delivery_gives_the_same_bits",),
    ),
    Row(
        "retained messages are played again",
        "asked for only when a subscription is new; they count once",
        (
            _RARE + "test_retained_messages_count_once_whatever_is_begun_anew",
            "mqtt/test_source.py::test_what_was_not_acknowledged_comes_again_and_what_was_does_not",
        ),
    ),
    Row(
        "the clock jumps, daylight saving, suspend",
        "waits by a monotonic clock; while the clock is in doubt nothing is deleted or refused",
        (
            "faults/test_wrong_clock.py::test_a_clock_years_ahead_for_a_while_erases_nothing",
            "faults/test_wrong_clock.py::test_a_clock_that_is_behind_refuses_nothing",
            "faults/test_clocks.py::test_steps_of_the_wall_clock_change_no_wait_and_lose_nothing",
            "faults/test_clocks.py::test_local_times_pair_by_utc_through_both_changes_of_the_clocks",
            "decode/formats/test_native.py::test_a_hostile_payload_is_refused_for_its_reason_at_its_place",
        ),
    ),
    Row(
        "a time in the future",
        "refused (`future`), moves no window",
        (
            _RARE + "test_a_time_in_the_future_is_refused_and_moves_nothing",
            "decode/formats/test_native.py::test_a_hostile_payload_is_refused_for_its_reason_at_its_place",
        ),
    ),
    Row(
        "a reference hours or days late",
        "pairs as long as readings are held (`pairing.max_wait_hours`)",
        (
            "core/pairing/test_engine.py::test_any_order_and_repetition_gives_the_pairs_of_the_oracle",
        ),
    ),
    Row(
        "a reference never comes",
        "the reading expires and is counted; the alert `reference_stale` says so",
        (
            "core/pairing/test_engine.py::test_what_expires_unpaired_is_counted_and_pairs_stay",
            "core/fleet/test_presence.py::test_a_series_whose_references_stop_is_stale_then_unknown_and_never_ok",
        ),
    ),
    Row(
        "a reference is corrected or voided",
        "the highest revision stands whatever the order; all derived follows",
        (
            "acceptance/test_trades.py::test_revisions_after_the_fact_or_before_it_give_the_same_bits",
        ),
    ),
    Row(
        "a sensor is adjusted, moved or replaced",
        "an event cuts the window, the history stays",
        ("core/state/test_network.py::test_an_event_begins_a_new_epoch_whenever_it_arrives",),
    ),
    Row(
        "NaN, infinity, 1e308, u of nothing, limits that cross",
        "refused with the reason, never swapped or clipped; the alert `rejected_share`",
        (
            "acceptance/test_bad_input.py::test_every_bad_message_is_refused_with_its_reason_and_the_good_one_after_it_arrives",
            "trial inputs",
        ),
    ),
    Row(
        "broken JSON, deep nesting, wrong UTF-8, megabytes",
        "kept as a dead letter (first 1 kB, the last ten thousand), counted, acknowledged",
        (
            "daemon/test_intake.py::test_of_a_flood_of_bad_messages_the_newest_are_kept_and_all_are_counted",
            "acceptance/test_bad_input.py::test_a_message_too_large_is_refused_once_and_never_comes_again",
            "trial inputs",
        ),
    ),
    Row(
        "one message that cannot be read, for ever first",
        "the same: it is acknowledged, and the next one is read",
        ("acceptance/test_simulation.py::test_a_planted_mistake_is_found", "trial seeds"),
    ),
    Row(
        "names that are markup, paths, surrogates",
        "a name is any text without `/ + #` and control characters; pages and metrics escape it",
        (
            "decode/formats/test_native.py::test_a_hostile_topic_is_refused_for_its_reason",
            "browser/test_pages.py::test_hostile_names_keys_and_payloads_are_text_on_every_page",
        ),
    ),
    Row(
        "invented sensors",
        "at most `series.max` series; beyond it a counter, and names of 65 536 topics at most",
        (
            "acceptance/test_bad_input.py::test_invented_sensors_cost_a_counter_and_no_series",
            "trial too much",
            "trial topics",
        ),
    ),
    Row(
        "forged references",
        "accounts of their own; the shipped access list keeps sensors out",
        ("deploy/test_mosquitto.py::test_nobody_publishes_what_is_not_theirs",),
    ),
    Row(
        "the disk is full, read-only or fails",
        "acknowledges nothing; goes on when there is room; ends with exit 75 on an error, and with "
        "what the system says",
        (
            "journal/test_journal.py::test_on_a_full_disk_all_that_was_committed_stays_and_the_rest_follows_when_there_is_room",
            "journal/test_journal.py::test_a_read_only_file_system_is_named_and_all_is_there_once_it_is_writable",
            "trial points",
            "trial read-only",
        ),
    ),
    Row(
        "the journal is damaged, cut or empty, or its log is gone, cut or another one",
        "refused (exit 65) with what to do; `--recover` keeps every sound row and counts the lost",
        (
            "journal/test_repairing.py::test_no_flipped_bit_is_read_as_something_else",
            "journal/test_repairing.py::test_any_damage_can_be_repaired",
            "journal/test_log_end.py::test_a_log_that_is_gone_is_told_until_a_repair",
            "journal/test_log_end.py::test_a_log_that_was_cut_anywhere_is_refused_until_a_repair",
            "journal/test_log_end.py::test_a_log_of_another_journal_or_an_earlier_one_is_refused",
        ),
    ),
    Row(
        "the process dies at any instant, or is asked to end",
        "nothing lost, nothing twice; SIGTERM: commits, acknowledges, exit 0 within 5 s",
        ("trial kills", "trial points", "trial terminations"),
    ),
    Row(
        "two daemons on one journal",
        "the second ends with exit 73",
        (
            "acceptance/test_bad_input.py::test_a_second_daemon_on_the_same_journal_is_told_and_ended",
        ),
    ),
    Row(
        "two daemons of one client id",
        "ends with exit 69 and says why; a network that flaps is not taken for it",
        (_RARE + "test_two_daemons_of_one_client_id_end_with_69_and_say_why", "trial cuts"),
    ),
    Row(
        "another version of the journal's form",
        "an earlier one is brought up in one transaction, after a copy; a newer one, and one from "
        "before the first release, is refused",
        (
            "journal/test_repairing.py::test_an_upgrade_killed_at_any_write_leaves_one_form_or_the_other",
            _KEPT + "test_a_kept_journal_is_opened_and_is_as_if_this_version_had_written_it",
        ),
    ),
    Row(
        "mistakes in the settings, at the start or when they are read again",
        "all at once with line and column; on SIGHUP the old ones stay and a metric says so",
        (
            "config/test_loading.py::test_all_mistakes_are_told_at_once_in_the_order_of_the_file",
            "acceptance/test_reload.py::test_settings_with_a_mistake_are_refused_and_the_old_ones_stay",
        ),
    ),
    Row(
        "a settings file that is a bomb",
        "at most 1 MiB, no aliases, no key twice",
        ("config/test_loading.py::test_a_yaml_bomb_costs_its_own_length_and_no_more",),
    ),
    Row(
        "secrets",
        "from files, environment and credentials only; in no log, page, metric or representation",
        (
            "mqtt/test_tls.py::test_user_and_password_open_the_door_and_are_never_shown",
            "config/test_credentials.py::test_a_secret_is_in_no_repr_and_no_dump",
        ),
    ),
    Row(
        "a certificate that ends or is another's",
        "refused in words; the day it ends is a metric with an alert two weeks before",
        (
            "mqtt/test_tls.py::test_a_certificate_for_another_host_or_of_the_past_is_not_trusted",
            "mqtt/test_tls.py::test_a_certificate_that_changes_under_a_daemon_is_trusted_as_far_as_its_authority_is",
        ),
    ),
    Row(
        "a broker that offers TLS before 1.2 alone, or ciphers that do not encrypt",
        "refused, with what the broker must offer",
        (
            "mqtt/test_tls.py::test_a_broker_that_offers_no_safe_tls_is_refused_and_told_what_to_change",
        ),
    ),
    Row(
        "a leap second",
        "a time in it is refused as one (`bad_field`), the next is read",
        (
            "decode/test_time.py::test_a_leap_second_is_refused_as_what_it_is_and_the_next_one_is_read",
        ),
    ),
    Row(
        "slow readers of the page, many scrapes at once",
        "256 connections, 5 s for a request's head, 5 s without progress of an answer; the address "
        "with the most makes room",
        (
            "http/test_service.py::test_slow_connections_are_dropped_and_do_not_keep_others_out",
            "http/test_server.py::test_a_slow_reader_has_the_time_of_an_answer_and_not_that_of_a_head",
            "trial too much",
            "trial crowd",
        ),
    ),
    Row(
        "strangers on the page",
        "listens on loopback; elsewhere only with TLS and passwords; GET and HEAD only",
        (
            "http/test_access.py::test_other_machines_need_encryption_and_a_password",
            "http/test_access.py::test_whoever_has_the_password_can_still_only_read",
        ),
    ),
    Row(
        "paths that climb",
        "a fixed table of routes; nothing is read from a path",
        ("http/test_application.py::test_only_the_fixed_routes_exist",),
    ),
    Row(
        "the process lives and does nothing",
        "`/healthz` says 503, systemd's watchdog is no longer fed",
        (
            "http/test_published.py::test_a_main_loop_that_stalls_is_seen",
            "daemon/test_runtime.py::test_a_beat_is_sent_three_times_in_the_time_allowed_and_no_more",
        ),
    ),
    Row(
        "a sensor falls silent",
        "its figures are withdrawn, never frozen; its last times stay",
        (
            "acceptance/test_prometheus.py::test_samples_arrive_and_those_of_a_sensor_that_stops_are_withdrawn",
        ),
    ),
    Row(
        "equal values, too few pairs",
        "no number and a state, never NaN; what is drawn by chance hangs on the window alone",
        (
            "core/scores/test_characteristics.py::test_small_and_plain_series_have_every_figure",
            "core/analysis/test_resampling.py::test_resampling_hangs_on_the_seed_and_the_series_alone",
        ),
    ),
    Row(
        "sums that drift, one huge value",
        "no running sums: what has left the window leaves no trace",
        (
            "core/scores/test_numerics.py::test_a_huge_value_that_has_left_the_window_leaves_no_trace",
            "core/scores/test_numerics.py::test_every_figure_is_that_of_fifty_digits",
            "trial numerics",
        ),
    ),
    Row(
        "its own counts do not add up",
        "ends before the commit; nothing is acknowledged, the messages come again",
        (
            "acceptance/test_conservation.py::test_a_miscount_ends_the_work_before_anything_is_committed",
            "acceptance/test_conservation.py::test_after_a_miscount_the_same_messages_count_once_in_the_next_life",
        ),
    ),
)
