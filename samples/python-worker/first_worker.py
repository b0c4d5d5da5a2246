#!/usr/bin/env python3
"""A first worker for Interlock Tasks in about 100 lines: to learn from. For work take worker.py, which is whole.

Here is what a worker decides. What it does it with is in the files beside this one: settings.py (environment),
wire.py (one request), spool.py (durable files), host.py and handlers.py (the process of a handler). What it lacks,
and what that costs, is told in docs/write-your-own-worker.md. Numbers in comments are promises of docs/contract.md.
"""
import json, secrets, signal, sys, threading, time
from handlers import HANDLERS, SERVED
from host import Host
from settings import DRAIN, DRAIN_TIME, GRACE, LIVE, SEEN, SESSION, SLOTS, STATE, WHO, WORKER, drain, facts, thread
from spool import open_state, save
from wire import accepted, backoff, call


def insist(field, kind, *request):
    """The same request until it is answered (2.11): a page of a proxy is no answer. Gives up when told to end."""
    while True:
        status, answer, pause = call(*request)
        if (status == 200 and isinstance(answer.get(field), kind)) or DRAIN.wait(max(pause, 0.5)):
            return answer


def present(state):
    return insist("project", str, "PUT", f"/workers/{WORKER}", {
        **WHO, "state": state, "slots": {"max": SLOTS, "busy": min(SLOTS, len(LIVE))}, "handlers": SERVED,
        "handlersHash": "1", "versions": {}, "spool": {"pending": len(LIVE), "bytes": 0, "oldestMs": None, "ok": True}})


class Attempt:
    """One attempt, from its claim to the answer to its last report.

    Its record on disk always holds a report: what the next process has to say if this one dies now.
    """

    def __init__(self, record, work, until, reason=None):
        self.record, self.four, self.work, self.until, self.reason = record, record["four"], work, until, reason
        self.file, self.lease = STATE / "attempts" / f"{self.four['attemptId']}.json", work.get("leaseMs", 3e4) / 1000
        self.lasts, self.host, self.over = False, None, threading.Event()
        LIVE.add(self)

    def send(self, op, more, limit=10.0):
        """One report, once: ("accepted" | the code of a refusal | None where there was no answer, pause)."""
        sent, path = time.monotonic(), f"/attempts/{self.four['attemptId']}/{op}"
        status, answer, pause = call("POST", path, {**self.four, **more}, limit)
        said = answer.get("code") if status in (400, 409, 413, 422) else None
        if accepted(status, answer, self.four, op):
            said, self.until = "accepted", max(self.until, sent + self.lease)  # Counted from the send (1.36).
        if said == "STALE_ATTEMPT" or (said == "accepted" and answer.get("cancelRequested") is True):
            self.stop("stale" if said == "STALE_ATTEMPT" else "cancel")  # 1.13, 5.18
        return said, pause

    def tell(self, op, **more):
        """Until there is an answer. A gate opens only while the lease is ours and nothing stops it (4.2, 4.3)."""
        said, gate, end = None, op in ("start", "effect"), DRAIN if op == "start" else self.over
        while not said and not (gate and (self.reason or end.is_set() or time.monotonic() > self.until)):
            said, pause = self.send(op, more)
            time.sleep(0 if said else max(pause, backoff(2, 1)))
        return said == "accepted" and not (gate and (self.reason or time.monotonic() > self.until))

    def renew(self):
        """A thread of its own from the claim on, so that nothing holds it up (5.12, 5.13)."""
        while not self.over.wait(max(self.lease / 12, self.until - self.lease * 0.7 - time.monotonic())):
            said, _ = self.send("renew", {}, self.lease / 4)
            if (said == "LEASE_EXPIRED" or time.monotonic() > self.until) and not self.lasts:
                self.stop("lease")  # Another worker may run it by now (5.14).

    def stop(self, reason):
        self.reason = self.reason or reason
        if self.host:
            self.host.stop(GRACE)

    def run(self):
        save(self.file, self.record)  # Before `start` (5.1).
        gated = self.work["effectGate"] != "effect" and self.work["effectSafety"] not in ("pure", "idempotent")  # 7.7
        # What is pure or past its gate may go on without a lease (5.15).
        self.lasts = self.work["effectSafety"] == "pure" or (gated and self.tell("start", sessionId=SESSION))
        if self.reason or DRAIN.is_set() or (gated and not self.lasts):
            back = {"op": "release", "reason": self.reason or "gate"}
            return self.end({"op": "cancelled"} if self.reason == "cancel" else back)
        self.record["report"]["begun"] = True
        save(self.file, self.record)  # Before the handler has its input (5.10).
        self.host, outcome = Host(), None
        self.host.say({"attempt": self.work} if not self.reason else {})  # A stop may have come meanwhile.
        if not gated:
            thread(self.send, "start", {"sessionId": SESSION})  # Nobody waits for its answer (4.5).
        for n, (what, value) in enumerate(self.host.hear()):
            if what == "gate":
                self.lasts = self.tell("effect", sessionId=SESSION)
                self.host.say({"gate": self.lasts})
            elif what == "progress":
                self.send("progress", {"n": n, **value})
            elif what in ("complete", "fail", "unknown"):
                outcome = {"op": what, "result" if what == "complete" else "error": value}
        self.host.sweep()
        lost = {"op": "lost", "reason": self.reason or "host-died", "begun": True, "killed": self.host.killed}
        self.end(outcome or ({"op": "cancelled"} if self.reason == "cancel" and not self.host.killed else lost))

    def end(self, report):
        """On disk, then sent until it is answered (5.2, 5.25). A refused one is set aside, as is a stale one."""
        self.record["report"] = report
        save(self.file, self.record)
        if self.reason == "stale" or not self.tell(**report):
            save(STATE / "aside" / self.file.name, self.record)
        self.file.unlink()
        self.over.set()
        LIVE.discard(self)


def take(item, sent):
    four = {name: item[name] for name in ("taskId", "attemptId", "fence", "leaseToken")}
    if four["attemptId"] not in SEEN:  # 2.14
        SEEN.append(four["attemptId"])
        reason = "no-slot" if len(LIVE) >= SLOTS or DRAIN.is_set() else "cancel" if item["cancelRequested"] else None
        reason = reason if (item["type"], item["schemaVersion"]) in HANDLERS else "no-handler"
        lost = {"op": "lost", "reason": "worker-restarted", "begun": False}
        attempt = Attempt({"four": four, "report": lost}, item, sent + item["leaseMs"] / 1000, reason)
        thread(attempt.renew)
        thread(attempt.run)


signal.signal(signal.SIGTERM, drain)
open_state()
if 1 not in (spoken := (about := insist("contracts", list, "GET", "/")).get("contracts", [1])):
    sys.exit(f"This worker speaks version 1 of the contract, the control plane {spoken}.")
# What an earlier process left: reports as they are, and `lost` where there is none; nothing is resumed (5.4, 5.9).
for record in [json.loads(file.read_text()) for file in (STATE / "attempts").glob("*.json")]:
    thread(Attempt(record, {}, 0).end, record["report"])
due = 0.0
while not DRAIN.is_set():
    if time.monotonic() > due:
        due = time.monotonic() + present("ready").get("presentAfterMs", 15_000) / 1000
    sent, free = time.monotonic(), min(SLOTS - len(LIVE), 100, about.get("limits", {}).get("claimMax", 100))  # 2.39
    claim = {**WHO, "workerId": WORKER, "requestId": "req_" + secrets.token_hex(16), "max": free,
             "want": [{**one, "slots": free} for one in SERVED]}
    answer = insist("attempts", list, "POST", "/claims", claim) if free > 0 else {}
    for item in answer.get("attempts", []):
        take(item, sent)
    DRAIN.wait(max(1, answer.get("pollAfterMs", 0) / 1000))
present("draining")
end = time.monotonic() + DRAIN_TIME
while LIVE and time.monotonic() < end:
    time.sleep(0.05)
present("offline")
sys.exit(facts["exit"])
