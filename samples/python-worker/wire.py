"""One HTTP request, and what counts as an answer to it."""
import email.utils
import http.client
import json
import random
import socket
import threading
from urllib.parse import urljoin, urlsplit
from settings import KEY, URL, superseded

KEY_STATUSES = (401, 403, 404, 426)


def call(method, path, body=None, limit=10.0):
    """(status, body, pause asked for). Status 0: no answer. Body {}: no JSON object, whatever the status says."""
    url = f"{URL}/api/tasks/v1{path}"
    for _ in range(3):
        status, headers, text = request(method, url, body, limit)
        moved = urljoin(url, headers.get("Location", ""))
        if status not in (307, 308) or urlsplit(moved)[:2] != urlsplit(url)[:2]:  # 5.46: never to another origin.
            break
        url = moved
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    answer = value if isinstance(value, dict) else {}
    superseded(answer)
    return status, answer, retry_after(headers)


def request(method, url, body, limit):
    at, timer = urlsplit(url), None
    kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
    connection = kind(at.hostname, at.port, timeout=min(5, limit))
    headers = {"Authorization": f"Bearer {KEY}", "Interlock-Contract": "1", "Content-Type": "application/json"}
    try:
        connection.connect()
        connection.sock.settimeout(limit)
        timer = threading.Timer(limit, connection.sock.shutdown, [socket.SHUT_RDWR])  # 5.49, dripping answers too.
        timer.start()
        connection.request(method, at._replace(scheme="", netloc="").geturl(), body and json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read(8_000_000)
    except (OSError, ValueError, http.client.HTTPException):
        return 0, {}, ""
    finally:
        if timer:
            timer.cancel()
        connection.close()


def retry_after(headers):  # 5.36, 5.37: seconds or a date, junk is ignored, chance only lengthens it.
    text = headers.get("Retry-After", "").strip()
    try:
        now = email.utils.parsedate_to_datetime(headers.get("Date") or email.utils.formatdate(usegmt=True))
        pause = int(text) if text.isdecimal() else (email.utils.parsedate_to_datetime(text) - now).total_seconds()
    except (TypeError, ValueError):
        return 0.0
    return min(max(pause, 0), 600) * random.uniform(1, 1.1)


def backoff(tries, longest):
    return min(longest, 0.25 * 2 ** min(tries, 20)) * random.uniform(0.5, 1)


def number(body, name, otherwise, most):
    value = body.get(name)
    return min(value, most) if type(value) in (int, float) and value >= 0 else otherwise


def accepted(status, answer, four, op):  # 5.25
    expected = {"accepted": True, "op": op, "attemptId": four["attemptId"], "fence": four["fence"]}
    return status == 200 and all(answer.get(name) == value for name, value in expected.items()) \
        and answer["accepted"] is True


def refused_for_good(status, answer, project):  # 5.28, 5.29
    code = answer.get("code")
    unknown = code == "NOT_FOUND" and answer.get("kind") == "attempt" and answer.get("project") == project
    in_shape = code and code != "UNSUPPORTED_OPERATION"  # 5.34
    return status == 413 or (status in (400, 422) and in_shape) or (status == 404 and unknown)
