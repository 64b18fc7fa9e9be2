"""A service from its options to its end."""

import contextlib
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

from framelane.base.errors import ConfigError, InputError
from framelane.serve.access import check_bind, token_of
from framelane.serve.configuration import Configuration, SourceSetting
from framelane.serve.service import Service
from framelane.serve.serving import PORT, Serving, log_to_stderr
from framelane.session.plan_file import load_metadata, load_plan
from framelane.session.session_plan import Node, SessionPlan

SIMULATED = "simulated"


def simulated_plan() -> SessionPlan:
    """The plan for one module of photons, from `framelane emulate` on this machine."""
    source, receiver = (Node(mac=f"02:00:00:00:00:0{n}", ip=IPv4Address(f"127.0.0.{3 - n}")) for n in (1, 2))
    return SessionPlan(source=source, receiver=receiver, n_slots=64, rows=512, columns=1024, pixels="corrected")


def run(
    folder: Path,
    *,
    plan: str | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    token_file: Path | None = None,
    log_json: bool = False,
    tell: Callable[[str], object] = lambda line: None,
) -> None:
    """Serve until a signal comes. FramelaneError for bad input, or where nobody can listen there."""
    check_bind(host, "there will be one" if token_file else None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}: give another") from error
    token = token_of(token_file) if token_file else None
    log_to_stderr(as_json=log_json)
    configuration = None if plan is None else _configuration(plan)
    service = Service(folder)
    with contextlib.closing(service):
        if service.status()["said"]:
            tell(service.status()["said"])
        serving = Serving(service, host, port, token)
        if configuration is not None:
            service.configure(configuration)
            service.arm()
            tell(f"armed: sources find the session at {service.status()['address']}")
        shown = f"[{host}]" if ":" in host else host
        with_token = f", with the token in {token_file}" if token_file else ""
        serving.run(lambda: tell(f"serving http://{shown}:{serving.port}/{with_token}: Ctrl-C ends it in order"))


def _configuration(plan: str) -> Configuration:
    if plan == SIMULATED:
        return Configuration(source=SourceSetting(plan=simulated_plan()))
    path = Path(plan)
    try:
        return Configuration(source=SourceSetting(plan=load_plan(path)), metadata=load_metadata(path))
    except ValueError as error:  # of pydantic
        raise ConfigError(f"the plan {path} cannot be served: {error}") from error
