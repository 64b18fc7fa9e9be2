"""A client of `framelane serve`, for programs that wait and for those of asyncio. Needs httpx and numpy alone.

    with Client("http://127.0.0.1:8470") as service:
        service.configure({"source": {"plan": plan}})
        service.arm()
        service.start()
        print(service.wait_for("ended", timeout_s=60)["loss"])

What is answered is the JSON of the interface, which /openapi.json describes.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
import numpy as np
from numpy.typing import NDArray

Json = dict[str, Any]
_PATIENCE_S = 120.0
"""So long an answer may take: a run that is armed is compiled first."""
_STEP_S = 0.05


class ServiceError(Exception):
    """The service has refused, `status` by HTTP, or cannot be reached (0). The message is its sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """The newest picture: int16 values with their codes or uint16 raw words, (rows, columns); its frame's number.

    A value times `scale` is in `unit`.
    """

    pixels: NDArray[Any]
    frame: int
    unit: str
    scale: float


@dataclass(frozen=True, slots=True)
class _Call:
    """A request of the interface."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, Any] | None = None

    def options(self) -> Json:
        query = {name: value for name, value in (self.query or {}).items() if value is not None}
        return {"params": query, **({} if self.body is None else {"json": self.body})}


def _image_call() -> _Call:
    return _Call("GET", "/api/image", query={"format": "raw"})


def _image(answer: httpx.Response) -> Image | None:
    if answer.status_code == 404:
        return None
    _check(answer)
    about = answer.headers
    shape = tuple(int(length) for length in about["Framelane-Shape"].split(","))
    dtype = np.dtype(about["Framelane-Dtype"]).newbyteorder("<")
    pixels = np.frombuffer(answer.content, dtype).reshape(shape)
    return Image(pixels, int(about["Framelane-Frame"]), about["Framelane-Unit"], float(about["Framelane-Scale"]))


def _check(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    try:
        sentence = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        sentence = f"{answer.request.url} answers {answer.status_code}: is it framelane serve?"
    raise ServiceError(answer.status_code, sentence)


def _options(url: str, token: str | None, token_file: str | Path | None) -> Json:
    if token_file is not None:
        token = Path(token_file).read_text().strip()
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return {"base_url": url, "headers": headers, "timeout": _PATIENCE_S}


def _unreached(url: httpx.URL, error: httpx.TransportError) -> ServiceError:
    return ServiceError(0, f"{url} does not answer: {str(error) or type(error).__name__}: is the service running?")


def _reached(status: Json, state: str) -> bool:
    """Whether it has the state; ServiceError where it will not have it."""
    if status["state"] == state:
        return True
    if status["state"] == "error" and not status["doing"]:
        raise ServiceError(0, status["said"])
    return False


def _late(status: Json, state: str, timeout_s: float) -> ServiceError:
    return ServiceError(0, f"the service is {status['state']} after {timeout_s:g} s, not {state}: {status['said']}")


class Client:
    """A client of the service at `url`, with its `token` or the file of it. ServiceError for what it refuses."""

    def __init__(self, url: str, *, token: str | None = None, token_file: str | Path | None = None) -> None:
        self._http = httpx.Client(**_options(url, token, token_file))

    def configure(self, configuration: Json) -> Json:
        """Choose what the next runs are; its status."""
        return self._json(_Call("POST", "/api/configure", configuration))

    def configuration(self) -> Json | None:
        """What the next runs are; None where nothing was configured."""
        found: Json | None = self._ask(_Call("GET", "/api/configuration")).json()
        return found

    def arm(self) -> Json:
        """Open a run; its status."""
        return self._json(_Call("POST", "/api/arm"))

    def start(self) -> Json:
        """Let the board send; its status."""
        return self._json(_Call("POST", "/api/start"))

    def stop(self, wait_s: float | None = None) -> Json:
        """End the run in order, waiting so many seconds; its status."""
        return self._json(_Call("POST", "/api/stop", query={"wait_s": wait_s}))

    def abort(self, wait_s: float | None = None) -> Json:
        """End the run at once, or forget an error; its status."""
        return self._json(_Call("POST", "/api/abort", query={"wait_s": wait_s}))

    def status(self) -> Json:
        """What it does, and how the run goes."""
        return self._json(_Call("GET", "/api/status"))

    def statistics(self) -> Json:
        """All that the newest run has counted."""
        return self._json(_Call("GET", "/api/statistics"))

    def verdicts(self) -> Json:
        """Why frames were kept or not, and a histogram of their peaks."""
        return self._json(_Call("GET", "/api/verdicts"))

    def frames(self, last: int = 100) -> list[Json]:
        """The records of the newest frames, the oldest of them first."""
        found: list[Json] = self._ask(_Call("GET", "/api/frames", query={"last": last})).json()
        return found

    def thresholds(self, *, threshold: int | None = None, minimum_peaks: int | None = None) -> Json:
        """The thresholds that judge frames. Those given are changed from the next frame on."""
        if threshold is None and minimum_peaks is None:
            return self._json(_Call("GET", "/api/thresholds"))
        return self._json(_Call("PUT", "/api/thresholds", {"threshold": threshold, "minimum_peaks": minimum_peaks}))

    def image(self) -> Image | None:
        """The newest picture; None where no frame has come."""
        return _image(self._ask(_image_call(), check=False))

    def wait_for(self, state: str, timeout_s: float) -> Json:
        """Wait for a state; the status then. ServiceError where it comes to an error, or the time is over."""
        end = time.monotonic() + timeout_s
        while not _reached(status := self.status(), state):
            if time.monotonic() > end:
                raise _late(status, state, timeout_s)
            time.sleep(_STEP_S)
        return status

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _json(self, call: _Call) -> Json:
        found: Json = self._ask(call).json()
        return found

    def _ask(self, call: _Call, *, check: bool = True) -> httpx.Response:
        try:
            answer = self._http.request(call.method, call.path, **call.options())
        except httpx.TransportError as error:
            raise _unreached(self._http.base_url, error) from error
        return _check(answer) if check else answer


class AsyncClient:
    """`Client` for asyncio: the same methods, to be awaited."""

    def __init__(self, url: str, *, token: str | None = None, token_file: str | Path | None = None) -> None:
        self._http = httpx.AsyncClient(**_options(url, token, token_file))

    async def configure(self, configuration: Json) -> Json:
        """See `Client`."""
        return await self._json(_Call("POST", "/api/configure", configuration))

    async def configuration(self) -> Json | None:
        """See `Client`."""
        found: Json | None = (await self._ask(_Call("GET", "/api/configuration"))).json()
        return found

    async def arm(self) -> Json:
        """See `Client`."""
        return await self._json(_Call("POST", "/api/arm"))

    async def start(self) -> Json:
        """See `Client`."""
        return await self._json(_Call("POST", "/api/start"))

    async def stop(self, wait_s: float | None = None) -> Json:
        """See `Client`."""
        return await self._json(_Call("POST", "/api/stop", query={"wait_s": wait_s}))

    async def abort(self, wait_s: float | None = None) -> Json:
        """See `Client`."""
        return await self._json(_Call("POST", "/api/abort", query={"wait_s": wait_s}))

    async def status(self) -> Json:
        """See `Client`."""
        return await self._json(_Call("GET", "/api/status"))

    async def statistics(self) -> Json:
        """See `Client`."""
        return await self._json(_Call("GET", "/api/statistics"))

    async def verdicts(self) -> Json:
        """See `Client`."""
        return await self._json(_Call("GET", "/api/verdicts"))

    async def frames(self, last: int = 100) -> list[Json]:
        """See `Client`."""
        found: list[Json] = (await self._ask(_Call("GET", "/api/frames", query={"last": last}))).json()
        return found

    async def thresholds(self, *, threshold: int | None = None, minimum_peaks: int | None = None) -> Json:
        """See `Client`."""
        if threshold is None and minimum_peaks is None:
            return await self._json(_Call("GET", "/api/thresholds"))
        given = {"threshold": threshold, "minimum_peaks": minimum_peaks}
        return await self._json(_Call("PUT", "/api/thresholds", given))

    async def image(self) -> Image | None:
        """See `Client`."""
        return _image(await self._ask(_image_call(), check=False))

    async def wait_for(self, state: str, timeout_s: float) -> Json:
        """See `Client`."""
        end = time.monotonic() + timeout_s
        while not _reached(status := await self.status(), state):
            if time.monotonic() > end:
                raise _late(status, state, timeout_s)
            await asyncio.sleep(_STEP_S)
        return status

    async def close(self) -> None:
        """See `Client`."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _json(self, call: _Call) -> Json:
        found: Json = (await self._ask(call)).json()
        return found

    async def _ask(self, call: _Call, *, check: bool = True) -> httpx.Response:
        try:
            answer = await self._http.request(call.method, call.path, **call.options())
        except httpx.TransportError as error:
            raise _unreached(self._http.base_url, error) from error
        return _check(answer) if check else answer
