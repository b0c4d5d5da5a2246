"""Makes what a case is about, so that it is answered with more than 404: a task, an attempt, an outcome that is unknown."""

import itertools
import json
import urllib.request

TYPE = {"type": "schemathesis/there", "schemaVersion": 1}
POOL = "schemathesis"
WORKER = {"workerId": "schemathesis-there", "sessionId": "ses_there"}


class There:
    def __init__(self, base, keys):
        self._base = base
        self._keys = keys
        self._count = itertools.count()

    def task(self):
        """One that nobody has. → TaskView"""
        return self._call("task-producer", "POST", "/tasks", {**TYPE, "pool": POOL, "input": 1})

    def submit(self, body, headers):
        names = ("Idempotency-Key",)
        self._call("task-producer", "POST", "/tasks", body, {n: headers[n] for n in names if n in headers})

    def cancelled_task(self):
        return self._call("task-producer", "POST", f"/tasks/{self.task()['id']}/cancel", {})

    def attempt(self, cancelling=False):
        """One that has been claimed and no more, or whose task was asked to stop then. → Attempt"""
        self.task()
        asked = {
            **WORKER,
            "requestId": f"there-{next(self._count)}",
            "pools": [POOL],
            "want": [{**TYPE, "slots": 1}],
            "max": 1,
        }
        attempt = self._call("task-worker", "POST", "/claims", asked)["attempts"][0]
        if cancelling:
            self._call("task-producer", "POST", f"/tasks/{attempt['taskId']}/cancel", {})
        return attempt

    def unknown_task(self):
        attempt = self.attempt()
        four = {name: attempt[name] for name in ("taskId", "fence", "leaseToken")}
        error = {"code": "NO_ANSWER", "message": "made by the fuzzer"}
        path = f"/attempts/{attempt['attemptId']}"
        self._call("task-worker", "POST", f"{path}/start", {**four, "sessionId": WORKER["sessionId"]})
        self._call("task-worker", "POST", f"{path}/unknown", {**four, "error": error})
        return self._call("task-producer", "GET", f"/tasks/{attempt['taskId']}")

    def _call(self, kind, method, path, body=None, headers=None):
        request = urllib.request.Request(
            self._base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._keys[kind]['key']}",
                "Content-Type": "application/json",
                **(headers or {}),
            },
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
