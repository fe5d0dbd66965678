"""One request of the OpenAI completions or chat completions API: its answer as texts, or how it failed."""

import json
import re
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

from ....models.errors import InputError, printable

MOST_BYTES = 4_000_000
"""Bytes of one answer at most; texts of forged pairs are short."""

LONGEST_WAIT = 30.0
"""Seconds of a Retry-After that are waited for at most."""


class Refused(Exception):
    """A request that the server did not take (no connection, 429, 503). It may be sent again.

    wait: seconds that the server asks to wait; None if it does not say.
    read: whether it may have read the request, and so written a text; not without a connection.
    """

    def __init__(self, why: str, wait: float | None = None, read: bool = True):
        super().__init__(why)
        self.wait, self.read = wait, read


class Lost(Exception):
    """A request that the server took and whose answer is lost, or no answer. What it emitted is not known."""


class Wrong(Exception):
    """An answer that no other request will change: no such address or model, a page, a redirect."""


@dataclass
class Completion:
    """A request's texts.

    texts: of its choices, by index.
    ended: the finish_reason of each choice.
    usage: completion_tokens, if given.
    model, fingerprint, timings: as answered.
    events: those of the stream that had text.
    logprobs: of each choice, as answered; None in a stream.
    token_ids: of each choice, if the server gives them; None in a stream.
    prompt_ids: of a chat as the server's template made them, if it gives them.
    """

    texts: list[str] = field(default_factory=list)
    ended: list[str | None] = field(default_factory=list)
    usage: int | None = None
    model: str = ""
    fingerprint: str = ""
    timings: Mapping[str, Any] = field(default_factory=dict)
    events: int = 0
    logprobs: list[Any] = field(default_factory=list)
    token_ids: list[Any] = field(default_factory=list)
    prompt_ids: Any = None

    def take(self, data: Any) -> None:
        """Add a JSON answer, or one event of a stream. Raises: Lost."""
        if not isinstance(data, dict) or "error" in data:
            raise Lost(f"an error in place of output: {_message(data)}")
        choices = data.get("choices")
        if not isinstance(choices, list):
            raise Lost("JSON without choices")
        for place, choice in enumerate(choices):
            text, index = (_text(choice), choice.get("index", place)) if isinstance(choice, dict) else (None, 0)
            if not isinstance(text, str | None) or not isinstance(index, int) or not 0 <= index < 1000:
                raise Lost("a choice without text")
            while len(self.texts) <= index:
                self.texts.append("")
                for parts in (self.ended, self.logprobs, self.token_ids):
                    parts.append(None)
            self.logprobs[index] = choice.get("logprobs")
            self.token_ids[index] = choice.get("token_ids")
            self.texts[index] += text or ""
            self.ended[index] = choice.get("finish_reason") or self.ended[index]
            self.events += bool(text)
        usage = data.get("usage")
        tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
        self.usage = tokens if isinstance(tokens, int) else self.usage
        self.prompt_ids = data.get("prompt_token_ids", self.prompt_ids)
        self.model = printable(str(data.get("model") or self.model))
        self.fingerprint = printable(str(data.get("system_fingerprint") or self.fingerprint))
        self.timings = data["timings"] if isinstance(data.get("timings"), dict) else self.timings


def _text(choice: dict[str, Any]) -> Any:
    """Return a choice's text, or the content of a chat's message or of a part of it."""
    said = choice.get("message", choice.get("delta"))
    return said.get("content") if isinstance(said, dict) else choice.get("text")


CHAT = "/chat/completions"
"""End of the address of an API that is asked for chats."""


def api_base(url: str) -> str:
    """Return the address of the API: the server's with /v1, unless a path was given. Raises: InputError."""
    parts = urlsplit(url)
    try:
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        right = False
    if not right or parts.query or parts.fragment:
        raise InputError(f"{url}: expected http://HOST:PORT or https://HOST:PORT, and the path of its API if not /v1")
    url = url.rstrip("/")
    return url.removesuffix(CHAT).removesuffix("/completions") if parts.path.strip("/") else url + "/v1"


def asks_chat(url: str) -> bool:
    """Check whether an address is that of chat completions."""
    return url.rstrip("/").endswith(CHAT)


class Completions:
    """A connection to a server.

    base: address of the API.
    seconds: wall-clock limit of one request.
    chat: whether a request is for a chat of one message, the prompt.
    """

    def __init__(self, base: str, seconds: float, connections: int, key: str | None = None, chat: bool = False):
        self.base, self.seconds, self.chat, self.closed = base, seconds, chat, False
        limits = httpx2.Limits(max_connections=connections, keepalive_expiry=2.0)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.client = httpx2.Client(timeout=seconds, limits=limits, headers=headers, trust_env=False)

    def models(self) -> tuple[list[str], str]:
        """Return the names of the models that the server lists, and its Server header."""
        try:
            answer = self.client.get(f"{self.base}/models", timeout=min(self.seconds, 10.0))
            data = answer.json().get("data")
            listed = data if isinstance(data, list) else []
            names = [printable(str(m["id"])) for m in listed if isinstance(m, dict) and "id" in m]
            return names, printable(answer.headers.get("server", ""))
        except (httpx2.HTTPError, ValueError, AttributeError):
            return [], ""

    def drafts(self) -> tuple[int, int] | None:
        """Return how many tokens the server has drafted and kept, if it counts them as vLLM does."""
        counts: Counter[str] = Counter()
        try:
            text = self.client.get(f"{self.base.removesuffix('/v1')}/metrics", timeout=min(self.seconds, 10.0)).text
            for name, value in re.findall(r"^vllm:spec_decode_num_(\w+)_tokens_total(?:{.*})? (\S+)$", text, re.M):
                counts[name] += int(float(value))
        except (httpx2.HTTPError, ValueError):
            return None
        return (counts["draft"], counts["accepted"]) if "draft" in counts else None

    def ask(self, body: Mapping[str, Any]) -> Completion:
        """Send one request. Raises: Refused, Lost or Wrong."""
        if self.chat and "prompt" in body:
            prompt = {"messages": [{"role": "user", "content": body["prompt"]}]}
            body = {name: value for name, value in body.items() if name != "prompt"} | prompt
        try:
            with self.client.stream("POST", self.address, json=body) as response:
                self._check(response)
                streamed = response.headers.get("content-type", "").startswith("text/event-stream")
                return self._streamed(response) if streamed else self._whole(response)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            cause = _root(error)
            if isinstance(cause, ssl.SSLError):
                raise Wrong(f"no TLS at {self.base} ({short(cause)}); did you mean http://?") from None
            raise Refused(f"no connection to {self.base} ({short(cause)})", read=False) from None
        except httpx2.TimeoutException:
            raise Lost(f"no answer within {self.seconds:g} s") from None
        except httpx2.SSEError as error:
            raise Lost(f"a broken stream of events ({short(error)})") from None
        except (httpx2.HTTPError, httpx2.StreamError, RuntimeError) as error:
            raise Lost(f"the connection broke before the answer was complete ({short(error)})") from None

    @property
    def address(self) -> str:
        """Return where requests are sent."""
        return self.base + (CHAT if self.chat else "/completions")

    def close(self) -> None:
        """End all connections."""
        self.closed = True
        self.client.close()

    def _check(self, response: httpx2.Response) -> None:
        """Raise Refused, Lost or Wrong unless the answer may hold texts."""
        status, kind = response.status_code, response.headers.get("content-type", "")
        if status in (429, 503):
            raise Refused(f"status {status}", _wait(response.headers.get("retry-after")))
        if 300 <= status < 400:
            place = response.headers.get("location", "nowhere")
            raise Wrong(f"{self.base} redirects to {printable(place)}; give that address")
        if kind.startswith("text/html") and (status == 200 or 400 <= status < 500):
            expected = f"expected the OpenAI completions API; status {status}"
            raise Wrong(f"{self.base} answers with a page (text/html); {expected}")
        if 400 <= status < 500:
            content = b"".join(self._limited(response.iter_bytes()))
            raise Wrong(
                f"status {status}: {_message(_parsed(content) or content.decode(errors='replace'))} ({self.base})"
            )
        if status != 200:
            raise Lost(f"status {status}")

    def _limited(self, parts: Iterable[Any]) -> Iterator[Any]:
        """Yield the parts of an answer. Raises: Lost if it is too long, or takes too long."""
        size, until = 0, time.monotonic() + self.seconds
        for part in parts:
            size += len(part if isinstance(part, bytes) else part.data)
            if size > MOST_BYTES:
                raise Lost(f"more than {MOST_BYTES:,} bytes")
            if time.monotonic() > until:
                raise Lost(f"no complete answer within {self.seconds:g} s")
            yield part

    def _whole(self, response: httpx2.Response) -> Completion:
        content, answer = b"".join(self._limited(response.iter_bytes())), Completion()
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            raise Lost("an answer that is not UTF-8") from None
        data = _parsed(content)
        if data is None:
            raise Lost(f"an answer that is not JSON: {content[:40].decode('utf-8', 'replace')!r}")
        answer.take(data)
        return answer

    def _streamed(self, response: httpx2.Response) -> Completion:
        answer = Completion()
        for event in self._limited(httpx2.EventSource(response)):
            if event.data == "[DONE]":
                break
            if event.data:
                data = _parsed(event.data)
                if data is None:
                    raise Lost(f"an event that is not JSON: {event.data[:40]!r}")
                answer.take(data)
        if not answer.ended or None in answer.ended:
            raise Lost("the stream ended before its output did")
        return answer


def _wait(text: str | None) -> float | None:
    """Return the seconds of a Retry-After; None for a date, or what is no number."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None


def _parsed(content: str | bytes) -> Any:
    """Return parsed JSON; None for what is no JSON, and for null."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _message(data: Any) -> str:
    """Return what an error says, in one short line."""
    error = data.get("error", data) if isinstance(data, dict) else data
    text = error.get("message", error) if isinstance(error, dict) else error
    return _in_one_line(text, 200) or "no message"


def _root(error: BaseException) -> BaseException:
    while cause := error.__cause__ or error.__context__:
        error = cause
    return error


def short(error: BaseException) -> str:
    """Return what an exception says, in one short line."""
    return _in_one_line(error, 120) or type(error).__name__


def _in_one_line(said: Any, most: int) -> str:
    return printable(" ".join(str(said).split())[:most])
