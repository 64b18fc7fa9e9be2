"""A service as a Tango device: the names of EPICS as attributes and commands."""

from collections.abc import Callable, Sequence
from typing import Any

from tango import AttrWriteType, DevState, Except
from tango.server import Device, attribute, command, run

from framelane.control import names
from framelane.control.names import COMMANDS, READINGS, SETTINGS, Look, Reading, Setting
from framelane.serve.client import Client, ServiceError

_STATES = {
    "idle": DevState.OFF,
    "armed": DevState.STANDBY,
    "running": DevState.RUNNING,
    "ended": DevState.ON,
    "error": DevState.FAULT,
}
CLASS = "FramelaneService"


def device_class(connect: Callable[[], Client], *, commands: bool = True) -> Any:
    """The class of a device of one service; without `commands` nothing can be written."""

    def init_device(self: Any) -> None:
        Device.init_device(self)
        self.service = connect()
        self.set_state(DevState.INIT)

    def delete_device(self: Any) -> None:
        self.service.close()

    def look(self: Any) -> Look:
        try:
            return Look.at(self.service)
        except ServiceError as error:
            raise _failed(error) from error

    def dev_state(self: Any) -> Any:
        try:
            return _STATES[self.service.status()["state"]]
        except ServiceError:
            return DevState.UNKNOWN

    def dev_status(self: Any) -> str:
        try:
            status = self.service.status()
        except ServiceError as error:
            return str(error)
        return " ".join(filter(None, (f"{status['state']}.", status["said"], status["line"])))

    members: dict[str, Any] = {
        "__doc__": "A receiver of framelane as a service.",
        "init_device": init_device,
        "delete_device": delete_device,
        "look": look,
        "dev_state": dev_state,
        "dev_status": dev_status,
    }
    for reading in READINGS:
        members[reading.name] = _reading(reading)
    for setting in SETTINGS:
        members[setting.name] = _setting(setting, commands)
    if commands:
        members |= {name: _command(name) for name in COMMANDS}
    return type(CLASS, (Device,), members)


def serve(device: Any, name: str, *, port: int, host: str, database: bool) -> None:
    """Serve the device `name` until a signal: at `host` and `port`, or as Tango's `database` has it."""
    arguments = [CLASS, name.replace("/", "-")]
    if not database:
        arguments += ["-nodb", "-dlist", name, "-ORBendPoint", f"giop:tcp:{host}:{port}"]
    run([device], args=arguments)


def _reading(reading: Reading) -> Any:
    def read(self: Any) -> Any:
        return reading.value(self.look())

    return attribute(fget=read, dtype=reading.type, doc=reading.about, unit=reading.unit)


def _setting(setting: Setting, writable: bool) -> Any:
    def read(self: Any) -> int:
        return setting.value(self.look())

    def write(self: Any, value: int) -> None:
        try:
            names.change(self.service, setting, int(value))
        except ServiceError as error:
            raise _failed(error) from error

    if not writable:
        return attribute(fget=read, dtype=int, doc=setting.about)
    access = AttrWriteType.READ_WRITE
    return attribute(fget=read, fset=write, access=access, dtype=int, doc=setting.about, min_value=setting.least)


def _command(name: str) -> Any:
    def act(self: Any) -> None:
        try:
            names.command(self.service, name)
        except ServiceError as error:
            raise _failed(error) from error

    act.__name__ = name
    return command(act)


def _failed(error: ServiceError) -> Exception:
    """As Tango's clients are told."""
    try:
        Except.throw_exception("framelane", str(error), CLASS)
    except Exception as failed:
        return failed
    raise AssertionError


__all__: Sequence[str] = ["device_class", "serve"]
