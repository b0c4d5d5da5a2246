"""What the environment says, and what all threads of the worker share."""
import collections
import os
import pathlib
import re
import secrets
import socket
import sys
import threading


def seconds(text):  # "1", "1s", "1000ms", "2m"
    count, unit = re.fullmatch(r"(\d+)(ms|s|m|)", text).groups()
    return int(count) * {"ms": 0.001, "": 1, "s": 1, "m": 60}[unit]


URL = os.environ["INTERLOCK_URL"].rstrip("/")
KEY = os.environ.pop("INTERLOCK_WORKER_KEY")  # Handlers do not inherit it.
STATE = pathlib.Path(os.environ["INTERLOCK_SPOOL"]).resolve()
WORKER = os.environ.get("INTERLOCK_WORKER_ID", socket.gethostname())
SLOTS = int(os.environ.get("INTERLOCK_MAX_CONCURRENT", "4"))
POOLS = os.environ.get("INTERLOCK_POOLS", "default").split(",")
GRACE = seconds(os.environ.get("INTERLOCK_STOP_GRACE", "10s"))
DRAIN_TIME = seconds(os.environ.get("INTERLOCK_DRAIN_TIMEOUT", "30s"))
SESSION = "ses_" + secrets.token_hex(16)  # 2.1
WHO = {"sessionId": SESSION, "earlierSessions": [], "pools": POOLS}

DRAIN, WORK, NEWS = threading.Event(), threading.Event(), threading.Event()
BUSY = set()  # Attempts that hold a slot.
LIVE = set()  # Attempts whose terminal report was not answered yet.
SEEN = collections.deque(maxlen=10_000)  # Ids of attempts (2.14).
KEY_REFUSED = set()  # Attempts whose report waits for a key that is taken.
facts = {"project": None, "disk": True, "exit": 0, "gone": False,
         "checkpointBytes": 65536, "logLineBytes": 8192, "claimMax": 100}


def thread(target, *args):
    made = threading.Thread(target=target, args=args, daemon=True)
    made.start()
    return made


def say(text):
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        pass  # A full disk under the log is no reason to lose work.


def drain(*_):
    for event in (DRAIN, WORK, NEWS):
        event.set()


def superseded(answer):  # 2.6
    if answer.get("code") == "SESSION_SUPERSEDED" and not facts["exit"]:
        say(f"{answer.get('detail', 'another process has taken over')}: this one drains and ends.")
        facts["exit"] = 80
        drain()
