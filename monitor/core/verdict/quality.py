"""The quality of readings in the words of three other trades.

Software for oceanography, for LwM2M devices and for OPC UA does not know an understated
uncertainty, but it knows a flag, an indicator or a status code.

Sources: Manual for Real-Time Oceanographic Data Quality Control Flags, version 1.2 (2020), whose
flag 9, missing data, is of readings that are not there; OMA's registry of LwM2M objects; OPC
10000-8, 7.3.2, where SensorNotAccurate is a sensor at one of its limits or out of calibration.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from typing_extensions import TypedDict

from monitor.core.setting import About


class Quality(TypedDict):
    """How far the readings of a sensor can be used, as they are sent."""

    qartod: Annotated[
        Literal[1, 2, 3, 4], About("QARTOD's flag: 1 pass, 2 not evaluated, 3 suspect, 4 fail.")
    ]
    lwm2m: Annotated[
        Literal[0, 1, 2, 3, 4],
        About(
            "LwM2M's Measurement Quality Indicator (resource 6042): 0 unchecked, 1 rejected with "
            "certainty, 2 rejected with probability, 3 accepted but suspicious, 4 accepted."
        ),
    ]
    opc_ua: Annotated[str, About("Status code of OPC UA.")]


GOOD: Final = Quality(qartod=1, lwm2m=4, opc_ua="Good")
UNCHECKED: Final = Quality(qartod=2, lwm2m=0, opc_ua="Uncertain")
SUSPECT: Final = Quality(qartod=3, lwm2m=3, opc_ua="Uncertain")
INACCURATE: Final = Quality(qartod=3, lwm2m=2, opc_ua="UncertainSensorNotAccurate")
FAILED: Final = Quality(qartod=4, lwm2m=1, opc_ua="BadSensorFailure")
