#!/usr/bin/env python3
"""A worker for Interlock Tasks in nothing but Python's standard library (3.9 or newer, Linux).

docs/write-your-own-worker.md explains it. Numbers in comments are promises of docs/contract.md. What happens to one attempt
is in attempt.py; here is what the worker does with all of them: find out, tell, claim, drain.
"""
import hashlib
import json
import random
import secrets
import signal
import sys
import threading
import time
from urllib.parse import urlsplit
from attempt import Attempt
from handlers import HANDLERS, SERVED
from settings import BUSY, DRAIN, DRAIN_TIME, GRACE, KEY_REFUSED, LIVE, NEWS, SEEN, SLOTS, STATE, URL, WHO, WORK, \
    WORKER, drain, facts, say, thread
from spool import open_state, read, save
from wire import KEY_STATUSES, backoff, call, number

SHAPE = {"leaseMs": int, "type": str, "schemaVersion": int, "effectKey": str, "effectSafety": str,
         "effectGate": str, "policy": dict, "cancelRequested": bool}
LAST_WORD = 3  # Seconds for reports after the deadline.
TELLING = threading.Lock()


def ask_until(ask, right):
    """The answer, as soon as it is one: a page of a proxy is none."""
    tries = 0
    while not DRAIN.is_set():
        status, answer, pause = ask()
        if status == 200 and right(answer):
            return answer
        DRAIN.wait(max(pause, backoff(tries, 60 if status in KEY_STATUSES else 3)))
        tries += 1
    return {}


def state():  # 3.5
    return "draining" if DRAIN.is_set() else "full" if len(BUSY) >= SLOTS else "ready"


def present(as_state):
    sizes = [len(text) for text in map(read, (STATE / "attempts").glob("*.json")) if text]
    body = {**WHO, "state": as_state, "slots": {"max": SLOTS, "busy": len(BUSY)},
            "handlers": SERVED, "handlersHash": hashlib.sha256(json.dumps(SERVED).encode()).hexdigest()[:32],
            "versions": {"worker": "python-sample"},
            "spool": {"pending": len(sizes), "bytes": sum(sizes), "oldestMs": None, "ok": facts["disk"]}}
    with TELLING:  # Nothing after the last word.
        if facts["gone"]:
            return 0, {}, 0.0
        facts["gone"] = as_state == "offline"
        return call("PUT", f"/workers/{WORKER}", body, limit=5)


def keep_present(told):
    due, tries = time.monotonic() + 15, 0
    while True:
        NEWS.wait(max(0, due - time.monotonic()))
        NEWS.clear()
        if state() == told and time.monotonic() < due:
            continue
        told = state()
        status, answer, pause = present(told)
        right = status == 200 and "project" in answer
        if right and answer.get("drain") is True:
            drain()
        tries = 0 if right else tries + 1
        wait = max(15, number(answer, "presentAfterMs", 15_000, 120_000) / 1000) if right else backoff(tries, 30)
        due = time.monotonic() + max(wait, pause)
        time.sleep(0.5 if right else max(wait, pause))


def claim():
    """One claim at a time, the same one until it is answered (2.10, 2.11); never for more than is free (2.28, 2.39)."""
    empty = 0
    while not DRAIN.is_set():
        WORK.clear()
        free = min(SLOTS - len(BUSY), facts["claimMax"])
        if not facts["disk"]:
            save(STATE / "probe.json", {})
        if free < 1 or KEY_REFUSED or not facts["disk"]:  # 5.3, 5.32
            WORK.wait(1)
            continue
        body = {**WHO, "workerId": WORKER, "max": free,
                "requestId": "req_" + secrets.token_hex(16), "want": [{**one, "slots": free} for one in SERVED]}
        sent = []
        answer = ask_until(lambda: (sent.append(time.monotonic()), call("POST", "/claims", body))[1],
                           lambda answer: isinstance(answer.get("attempts"), list))
        if answer.get("drain") is True:
            drain()
        granted = sum([take(item, sent[-1]) for item in answer.get("attempts", [])])
        empty = 0 if granted else empty + 1
        if granted < free:  # 2.25, 2.26
            own = min(5, 2 ** min(max(0, empty - 1), 9)) * random.uniform(0.8, 1)
            WORK.wait(max(own, number(answer, "pollAfterMs", 1000, 120_000) / 1000))
            if empty > 1:
                DRAIN.wait(0.2)


def take(item, sent):
    """One attempt of an answer: run, or given back with the reason. True if it was new."""
    item = item if isinstance(item, dict) else {}
    four = {name: item.get(name) for name in ("taskId", "attemptId", "fence", "leaseToken")}
    if [type(value) for value in four.values()] != [str, str, int, str]:
        say("An attempt without readable ids came; its lease will end it.")
        return False
    if four["attemptId"] in SEEN:  # 2.14
        return False
    lease = number(item, "leaseMs", 30_000, 600_000) / 1000
    attempt = Attempt(four, lease, sent + lease, item)
    thread(attempt.renew)
    if any(type(item.get(name)) is not kind for name, kind in SHAPE.items()):
        reason = "undecodable"  # 2.22
    elif (item["type"], item["schemaVersion"]) not in HANDLERS:
        reason = "no-handler"  # 2.23
    elif DRAIN.is_set() or len(BUSY) >= SLOTS:
        reason = "drain" if DRAIN.is_set() else "no-slot"  # 2.15
    else:
        BUSY.add(attempt)
        NEWS.set()
        thread(attempt.run)
        return True
    thread(lambda: attempt.end("release", reason=reason))
    return True


def recover():
    """5.4, 5.9: reports go out as they are; an attempt without one was lost with its process. Nothing is resumed."""
    for file in sorted((STATE / "attempts").glob("*.json")):
        record = json.loads(read(file))
        if record["url"] != URL or record["project"] != facts["project"]:
            say(f"{file.name} belongs to another control plane or project and stays.")
            continue
        attempt = Attempt(record["four"], record=record)
        if "report" in record:
            thread(attempt.renew)
            thread(attempt.deliver)
        else:
            thread(attempt.lost_before)


def finish():
    """5.24: what runs may end until the deadline, with the grace inside it; then reports have their moment."""
    end = time.monotonic() + DRAIN_TIME
    while LIVE and time.monotonic() < end + LAST_WORD:
        for attempt in list(LIVE):
            if time.monotonic() > end:
                attempt.kill()
            elif time.monotonic() > end - min(GRACE, DRAIN_TIME / 2):
                attempt.stop("drain")
        time.sleep(0.05)
    present("offline")
    sys.exit(facts["exit"])


def main():
    if not URL.startswith("https://") and urlsplit(URL).hostname not in ("127.0.0.1", "::1", "localhost"):  # 5.47
        sys.exit("INTERLOCK_URL must be https, or http on loopback: the key goes there.")
    signal.signal(signal.SIGTERM, drain)
    signal.signal(signal.SIGINT, drain)
    open_state()
    about = ask_until(lambda: call("GET", "/"), lambda answer: isinstance(answer.get("contracts"), list))
    if about and 1 not in about["contracts"]:  # 7.10
        sys.exit(f"This worker speaks version 1 of the contract, the control plane {about['contracts']}: update the older.")
    limits = about.get("limits") if isinstance(about.get("limits"), dict) else {}
    for name in ("checkpointBytes", "logLineBytes", "claimMax"):
        facts[name] = number(limits, name, facts[name], facts[name])
    facts["project"] = ask_until(lambda: present("ready"), lambda answer: "project" in answer).get("project")
    recover()
    thread(keep_present, "ready")
    claim()
    finish()


if __name__ == "__main__":
    main()
