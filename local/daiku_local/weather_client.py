"""The weather of a world, asked for and changed over HTTP."""

import json
import urllib.error
import urllib.request
from typing import Any

Json = dict[str, Any]
SECONDS_MAX = 10.0


class WeatherError(Exception):
    """The stand-in AWS did not take it, or is not there; the message says what to do."""


def get(endpoint: str) -> Json:
    """The forecast in force.

    Raises:
        WeatherError: The stand-in AWS does not answer.
    """
    return _ask(endpoint, "GET", "/_weather", None)


def put(endpoint: str, forecast: Json) -> Json:
    """Put a forecast in force, in place of the one before; gives it as it is understood.

    Raises:
        WeatherError: It cannot be read, or the stand-in AWS does not answer.
    """
    return _ask(endpoint, "PUT", "/_weather", forecast)


def interrupt(endpoint: str, interruption: Json) -> Json:
    """Interrupt an instance; gives what will happen.

    Raises:
        WeatherError: There is no such instance or kind, or the stand-in AWS does not answer.
    """
    return _ask(endpoint, "POST", "/_weather/interrupt", interruption)


def _ask(endpoint: str, method: str, path: str, content: Json | None) -> Json:
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(endpoint + path, data=body, method=method)  # noqa: S310 - a world's own address
    # Not through a proxy of the environment: the stand-in is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=SECONDS_MAX) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        try:
            said = json.load(error).get("error", "")
        except ValueError:
            said = str(error)
        raise WeatherError(said) from error
    except OSError as error:
        raise WeatherError(
            f"the stand-in AWS at {endpoint} does not answer ({error}): see `daiku local status`"
        ) from error
