"""A ranking has the members of its type, down to each line."""

from __future__ import annotations

from harness.http_service import SPREADS, document

from monitor.http import ranking_models


def test_a_ranking_has_every_member_of_its_type_and_no_other(race, service):
    table = document(service, "/api/v1/ranking?quantity=mass")

    assert set(table) == set(ranking_models.RankingTable.__annotations__)
    assert len(table["series"]) == len(SPREADS)
    for line in table["series"]:
        assert set(line) == set(ranking_models.RankedSeries.__annotations__)
        for score in line["scores"].values():
            assert set(score) == set(ranking_models.RankedScore.__annotations__)
