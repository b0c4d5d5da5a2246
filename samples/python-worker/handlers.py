"""The handlers, and the process that runs one of them: `python3 handlers.py <channel>`, started by worker.py.

The channel is a socket with one JSON text a line. The worker says {"attempt": …}, then {"gate": true | false} for each
gate that was asked for; the process says begun, progress, log, gate, and at its end complete, fail or unknown. Told to stop
(SIGTERM) it raises Stopped in the handler; when the channel closes it is gone at once.
"""
import json
import os
import queue
import signal
import socket
import sys
import threading
import time


class Failure(Exception):
    def __init__(self, code, message, retryable=False, details=None):
        super().__init__(message)
        self.error = {"code": code, "message": message[:4096], "retryable": retryable}
        if details is not None:
            self.error["details"] = details


class Unknown(Failure):
    """Nobody can tell whether the effect came about."""


class Stopped(BaseException):
    """The worker wants the handler to stop."""


def append(context, line):
    with open(os.path.join(os.environ["INTERLOCK_CONFORMANCE_DIR"], "effects.jsonl"), "a") as file:
        file.write(json.dumps({"effectKey": context.effect_key, "line": line}) + "\n")


def echo(value, context):
    time.sleep(value.get("ms", 0) / 1000 if isinstance(value, dict) else 0)
    return value


def sleep(value, context):
    time.sleep(value["ms"] / 1000)
    return {"slept": value["ms"]}


def fail(value, context):
    raise Failure(value["code"], value["message"], value["retryable"])


def effect(value, context):
    append(context, value["line"])
    time.sleep(value.get("ms", 0) / 1000)
    return {"line": value["line"]}


def gated(value, context):
    time.sleep(value.get("beforeMs", 0) / 1000)
    context.begin_effect()
    return effect(value, context)


def stubborn(value, context):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return sleep(value, context)


def spin(value, context):
    end = time.monotonic() + value["ms"] / 1000
    while time.monotonic() < end:
        pass
    return {}


def progress(value, context):
    for step in range(1, value["steps"] + 1):
        context.progress(100 * step / value["steps"], f"step {step}", {"step": step})
        context.log(f"step {step}")
        time.sleep(value.get("everyMs", 100) / 1000)
    return {"steps": value["steps"]}


# (type, schemaVersion): (function, effectSafety, effectGate)
HANDLERS = {
    ("conformance/echo", 1): (echo, "idempotent", "start"),
    ("conformance/sleep", 1): (sleep, "pure", "start"),
    ("conformance/fail", 1): (fail, "pure", "start"),
    ("conformance/effect", 1): (effect, "non-idempotent", "start"),
    ("conformance/gated", 1): (gated, "non-idempotent", "effect"),
    ("conformance/stubborn", 1): (stubborn, "pure", "start"),
    ("conformance/spin", 1): (spin, "pure", "start"),
    ("conformance/progress", 1): (progress, "pure", "start"),
}
SERVED = [{"type": name, "schemaVersion": version, "effectSafety": safety, "effectGate": gate}
          for (name, version), (_, safety, gate) in HANDLERS.items()]


class Context:
    def __init__(self, channel, attempt):
        self.channel, self.effect_key, self.gates = channel, attempt["effectKey"], queue.SimpleQueue()

    def say(self, what, value):
        self.channel.write(json.dumps({what: value}, allow_nan=False) + "\n")
        self.channel.flush()

    def progress(self, percent, message="", checkpoint=None):
        self.say("progress", {"percent": percent, "message": message, "checkpoint": checkpoint})

    def log(self, text, level="info"):
        self.say("log", {"level": level, "text": text})

    def begin_effect(self):
        self.say("gate", True)
        if not self.gates.get():
            raise Failure("HANDLER_ERROR", "The gate stayed shut: nothing was done.")

    def listen(self):
        for line in self.channel:
            self.gates.put(json.loads(line)["gate"])
        os.killpg(0, signal.SIGKILL)  # The worker is gone.


def as_json(value):
    """The value as JSON holds it everywhere; ValueError names what it cannot hold."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):  # Lone surrogates become U+FFFD.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    if isinstance(value, float) and abs(value) < float("inf"):
        return value or 0  # No -0.
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {as_json(name): as_json(item) for name, item in value.items()}
    raise ValueError(f"{type(value).__name__} {str(value)[:80]} does not fit into JSON")


def run(context, attempt):
    function = HANDLERS[attempt["type"], attempt["schemaVersion"]][0]
    try:
        result = function(attempt["input"], context)
    except Failure as failure:
        return "unknown" if isinstance(failure, Unknown) else "fail", as_json(failure.error)
    except Exception as error:
        message = as_json(f"{type(error).__name__}: {error}"[:4096])
        return "fail", {"code": "HANDLER_ERROR", "message": message, "retryable": False}
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # It has ended by itself: what it said counts.
    try:
        return "complete", as_json(result)
    except (ValueError, RecursionError) as error:
        return "fail", {"code": "RESULT_INVALID", "message": str(error), "retryable": False}


def main():
    def stopped(*_):
        raise Stopped

    signal.signal(signal.SIGTERM, stopped)
    channel = socket.socket(fileno=int(sys.argv[1])).makefile("rw")
    try:
        line = channel.readline()  # Ends empty where the worker is gone, or gives nothing.
        if line:
            attempt = json.loads(line)["attempt"]
            context = Context(channel, attempt)
            threading.Thread(target=context.listen, daemon=True).start()
            context.say("begun", True)
            context.say(*run(context, attempt))
    except Stopped:
        pass
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
