"""Records of a service for EPICS: softioc serves the same ones by Channel Access and by PVAccess."""

import time
from collections.abc import Callable
from typing import Any

from softioc import alarm, builder, softioc
from softioc.asyncio_dispatcher import AsyncioDispatcher

from framelane.base.stopping import Stop
from framelane.control.names import COMMANDS, READINGS, SETTINGS, Look, Reading, Setting, change, command
from framelane.serve.client import Client, ServiceError

_LOOK_S = 0.2


class EpicsRecords:
    """The records, below `prefix`; without `commands` nothing can be written. Once in a process, as softioc has it."""

    def __init__(self, service: Client, prefix: str, *, commands: bool = True) -> None:
        self._service = service
        builder.SetDeviceName(prefix.rstrip(":"))
        self._readings = {reading: _record(reading) for reading in READINGS}
        self._connected = builder.boolIn("Connected", ZNAM="no", ONAM="yes", DESC="whether the service answers")
        self._error = builder.longStringIn("CommandError", length=1024, DESC="why the last command was refused")
        self._settings: dict[Setting, Any] = {}
        if commands:
            for name in COMMANDS:
                act = self._doing(name)
                builder.boolOut(name, ZNAM="", ONAM=name, on_update=act, blocking=True, always_update=True)
            for setting in SETTINGS:
                self._settings[setting] = builder.longOut(
                    setting.name,
                    initial_value=setting.default,
                    on_update=self._changing(setting),
                    blocking=True,
                    DRVL=setting.least,
                    DESC=setting.about,
                )
        builder.LoadDatabase()

    def serve(self, stop: Stop) -> None:
        """Serve the records, and keep them current, until `stop` is wanted."""
        softioc.iocInit(AsyncioDispatcher())
        while not stop.wanted:
            self._look()
            time.sleep(_LOOK_S)

    def _look(self) -> None:
        try:
            look = Look.at(self._service)
        except ServiceError as error:
            self._connected.set(False)
            self._error.set(str(error))
            for record in self._readings.values():
                record.set(record.get(), severity=alarm.INVALID_ALARM, alarm=alarm.COMM_ALARM)
            return
        self._connected.set(True)
        for reading, record in self._readings.items():
            record.set(reading.value(look))
        for setting, record in self._settings.items():
            if (value := setting.value(look)) != record.get():
                record.set(value, process=False)

    def _doing(self, name: str) -> Callable[[int], None]:
        def done(value: int) -> None:
            if value:
                self._said(lambda: command(self._service, name))

        return done

    def _changing(self, setting: Setting) -> Callable[[int], None]:
        return lambda value: self._said(lambda: change(self._service, setting, value))

    def _said(self, act: Callable[[], None]) -> None:
        """Do it; what the service refuses is in CommandError, which is empty else."""
        try:
            act()
        except ServiceError as error:
            self._error.set(str(error))
        else:
            self._error.set("")


def _record(reading: Reading) -> Any:
    about = {"DESC": reading.about[:40]}
    if reading.type is bool:
        return builder.boolIn(reading.name, ZNAM="no", ONAM="yes", **about)
    if reading.type is int:
        return builder.int64In(reading.name, EGU=reading.unit, **about)
    if reading.type is float:
        return builder.aIn(reading.name, EGU=reading.unit, PREC=1, **about)
    if reading.length <= 40:
        return builder.stringIn(reading.name, **about)
    return builder.longStringIn(reading.name, length=reading.length, **about)
