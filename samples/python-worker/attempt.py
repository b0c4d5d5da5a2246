"""One attempt, from the claim to the answer to its terminal report. Numbers are promises of docs/contract.md."""
import json
import queue
import random
import signal
import threading
import time
from host import Host
from settings import BUSY, DRAIN, GRACE, KEY_REFUSED, LIVE, NEWS, SEEN, SESSION, STATE, URL, WORK, facts, say, thread
from spool import save
from wire import KEY_STATUSES, accepted, backoff, call, number, refused_for_good


def instant():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def later(delay, target, *args):
    timer = threading.Timer(delay, target, args)
    timer.daemon = True
    timer.start()
    return timer


class Attempt:
    def __init__(self, four, lease=30.0, until=0.0, work=None, record=None):
        self.four, self.lease, self.until, self.work = four, lease, until, work or {}
        self.id = four["attemptId"]
        self.file = STATE / "attempts" / f"{self.id}.json"
        self.record = record or {"four": four, "url": URL, "project": facts["project"], "begun": False,
                                 "claimedAt": instant()}
        self.safety = self.work.get("effectSafety")
        self.gate = None
        if self.safety not in ("pure", "idempotent"):  # 7.7
            self.gate = "effect" if self.work.get("effectGate") == "effect" else "start"
        self.passed, self.reason, self.stale, self.killed, self.host = False, None, False, False, None
        self.timer = None
        self.lock, self.stopped, self.over = threading.RLock(), threading.Event(), threading.Event()
        self.words, self.counts = queue.Queue(1000), {"progress": 0, "log": 0}
        SEEN.append(self.id)
        LIVE.add(self)

    def report(self, op, limit=10.0, **more):
        """Sends what ends nothing, once. What became of it: accepted, the code of a 409, refused, or again."""
        sent = time.monotonic()
        status, answer, _ = call("POST", f"/attempts/{self.id}/{op}", {**self.four, **more}, limit)
        if accepted(status, answer, self.four, op):
            self.lease = number(answer, "leaseMs", self.lease * 1000, 600_000) / 1000
            self.until = max(self.until, sent + self.lease)  # 1.36: from the send.
            if answer.get("cancelRequested") is True:
                self.stop("cancel")
            return "accepted"
        if status == 409 and "code" in answer:
            if answer["code"] == "STALE_ATTEMPT":  # 1.13
                self.stop("stale")
            return answer["code"]
        return "refused" if refused_for_good(status, answer, self.record["project"]) else "again"

    def renew(self):
        """A thread of its own, from the claim until the answer to the terminal report (5.12, 5.13)."""
        due, told = self.until - self.lease * random.uniform(0.67, 0.75), False
        while not self.over.is_set() and self.record.get("report", {}).get("op") != "lost":
            now = time.monotonic()
            left, third = self.until - now, self.lease / 3
            if left <= 0 and not told:
                self.ran_out()
            told = left <= 0
            if now < due:
                self.over.wait(due - now if told else min(due - now, left))
                continue
            said = self.report("renew", min(10, third, third if told else max(left, 0.2)))
            if said == "LEASE_EXPIRED":
                self.ran_out()  # 1.28, and it goes on asking.
            due = now + third * random.uniform(0.8, 1) if said != "again" else time.monotonic() + third / 4

    def ran_out(self):  # 5.14, 5.15
        if self.host and self.safety != "pure" and not self.passed:
            self.stop("lease")

    def open_gate(self, op):
        """Asks until there is an answer or the lease is over (4.2, 4.3); True for an accepted one that came in time."""
        tries, renewed = 0, False
        while time.monotonic() < self.until and not self.reason and not (op == "start" and DRAIN.is_set()):
            said = self.report(op, max(0.2, min(10, self.until - time.monotonic())), sessionId=SESSION)
            if said == "accepted" and time.monotonic() < self.until and not self.reason:
                self.passed = True
                return True
            if said == "LEASE_EXPIRED" and not renewed:  # 1.30
                renewed = True
                self.report("renew")
            elif said == "again":
                self.stopped.wait(backoff(tries, 2))
                tries += 1
            elif said != "accepted":
                return False
        return False

    def stop(self, reason):
        """SIGTERM, and SIGKILL when the grace is over (5.16). The first reason wins; a durable report is left alone (5.39)."""
        with self.lock:
            self.stale = self.stale or reason == "stale"
            if not self.reason and "report" not in self.record:
                self.reason = reason
                self.stopped.set()
                if self.host:
                    self.host.stop(GRACE)

    def kill(self):
        with self.lock:
            if self.host:
                self.host.signal(signal.SIGKILL)

    def run(self):
        try:
            outcome = self.work_on_it()
        except Exception as error:  # A bug of ours is no word of the handler's.
            say(f"{self.id}: {error!r}")
            outcome = "lost", {"reason": "host-died", "begun": self.record["begun"]}
        if self.stale:
            self.forget()  # 1.14
        else:
            self.end(outcome[0], **outcome[1])

    def work_on_it(self):
        if not save(self.file, self.record):  # 5.1: before `start` is sent.
            return "release", {"reason": "spool"}
        if self.work["cancelRequested"]:  # 2.24
            return "cancelled", {}
        if self.gate == "start" and not self.open_gate("start"):
            return ("cancelled", {}) if self.reason == "cancel" else ("release", {"reason": "gate"})
        with self.lock:
            if self.reason or DRAIN.is_set() or not save(self.file, {**self.record, "begun": True}):  # 5.10
                return ("cancelled", {}) if self.reason == "cancel" else ("release", {"reason": "drain"})
            self.record["begun"] = True
            self.host = Host()
        self.host.say({"attempt": self.work})
        if self.gate != "start":
            self.words.put(("start", {"sessionId": SESSION}))  # 4.5
        talker = thread(self.talk)
        outcome = self.listen()
        self.host.wait()
        if self.timer:
            self.timer.cancel()
        with self.lock:
            code, self.killed, self.host = self.host.sweep(), self.host.killed, None
        self.words.put(None)
        talker.join(2)
        if outcome:
            return outcome  # 5.17
        if self.reason == "cancel" and not self.killed:
            return "cancelled", {}  # 5.18
        lost = {"reason": self.reason or "host-died", "begun": True}  # 5.19, 5.20
        return "lost", {**lost, "killed": True} if self.killed else {**lost, "details": {"exitCode": code}}

    def listen(self):
        for what, value in self.host.hear():
            if what == "begun":  # 4.40: from here on, however slowly its process came up.
                limit = self.work["policy"].get("attemptTimeoutMs") or 1e9
                self.timer = later(min(limit, 1e9) / 1000, self.stop, "timeout")
            elif what == "gate":  # 4.3, 4.4
                self.host.say({"gate": self.gate != "effect" or self.passed or self.open_gate("effect")})
            elif what == "progress":
                if len(json.dumps(value["checkpoint"])) > facts["checkpointBytes"]:  # 5.59
                    del value["checkpoint"]
                self.mention("progress", value)
            elif what == "log":
                text = value["text"].encode("utf-8", "replace")[: facts["logLineBytes"]].decode("utf-8", "ignore")
                self.mention("log", {"lines": [{"at": instant(), "level": value["level"], "text": text}]})
            else:
                return what, {"result" if what == "complete" else "error": value}
        return None

    def mention(self, op, more):
        if not self.words.full():
            self.words.put((op, more))

    def talk(self):
        """What the handler says meanwhile, one after the other (1.20, 5.45); a lost word is no harm (5.40)."""
        for op, more in iter(self.words.get, None):
            if op in self.counts:
                self.counts[op] += 1
                more["n"] = self.counts[op]
            while not self.over.is_set():
                said = self.report(op, **more)
                if said == "LEASE_EXPIRED":
                    self.ran_out()
                if said != "again" or op != "start":
                    break
                self.over.wait(1)

    def end(self, op, **more):
        with self.lock:
            self.record["report"] = {"op": op, **more}
        self.deliver(save(self.file, self.record))  # 5.2

    def deliver(self, saved=True):
        """Again until it is answered, from the disk where that takes it (5.3); the table of section 5 says what then."""
        tries = 0
        while True:
            if saved:
                self.free()
            more = dict(self.record["report"])
            op = more.pop("op")
            status, answer, pause = call("POST", f"/attempts/{self.id}/{op}", {**self.four, **more})
            code, conflict = answer.get("code"), status == 409 and "code" in answer
            if accepted(status, answer, self.four, op):
                return self.forget()
            if conflict or refused_for_good(status, answer, self.record["project"]):
                while not save(STATE / "aside" / f"{self.id}-{op}.json", {**self.record, "answer": answer}):  # 5.5
                    time.sleep(1)
                stale = code == "STALE_ATTEMPT" or (code == "LEASE_EXPIRED" and op in ("lost", "cancelled", "release"))
                if stale or "followUp" in self.record or (conflict and op == "lost"):  # 5.26, 5.38
                    return self.forget()
                follows = self.lost_instead(op) if conflict else smaller(op, more)
                self.record = {**self.record, "followUp": True, "report": follows}
                saved = save(self.file, self.record)
                continue
            (KEY_REFUSED.add if status in KEY_STATUSES else KEY_REFUSED.discard)(self.id)  # 5.32
            longest = 60 if status in KEY_STATUSES or code == "UNSUPPORTED_OPERATION" else 5  # 5.33, 5.34
            time.sleep(max(pause, backoff(tries, longest)))
            tries += 1
            saved = saved or save(self.file, self.record)

    def lost_before(self):  # 5.9, 5.10: with what is known of it.
        details = {"claimedAt": self.record.get("claimedAt"), "workerProcess": {"went": "unknown"}}
        self.end("lost", reason="worker-restarted", begun=self.record["begun"], details=details,
                 message="An earlier process of the worker had the attempt; how that one ended is not known.")

    def lost_instead(self, op):  # 5.27
        reason = {"cancelled": "cancel", "release": "drain"}.get(op, "lease")
        return {"op": "lost", "reason": reason, "begun": self.record["begun"] and op != "release"}

    def forget(self):
        self.file.unlink(missing_ok=True)
        self.over.set()
        self.stopped.set()
        KEY_REFUSED.discard(self.id)
        LIVE.discard(self)
        self.free()

    def free(self):
        if self in BUSY:
            BUSY.discard(self)
            WORK.set()
            NEWS.set()


def smaller(op, more):  # 5.30, 5.31
    if op in ("complete", "fail"):
        message = "The control plane refused the handler's report for good."
        return {"op": "fail", "error": {"code": "RESULT_REFUSED", "message": message, "retryable": False,
                                        "details": {"handlerReturned": True}}}
    if op == "unknown":
        return {"op": op, "error": {"code": more["error"]["code"], "message": "", "retryable": False}}
    return {"op": op, **{name: value for name, value in more.items() if name not in ("message", "details")}}
