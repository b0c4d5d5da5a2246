"""What the fuzzer cannot read in the document: whose key is which, and rules that JSON Schema has no words for.

No call and no check is left out. A case is changed before it is sent only where the document says in prose what its
schemas cannot say; one false alarm of the tool is dropped, by what it is.
"""

import itertools
import json
import os

import schemathesis
from schemathesis.core import NOT_SET
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.generation.meta import TestPhase

from there import WORKER, There

# Kind of key -> {"key": …, "id": …}, as the runner has made them.
KEYS = json.loads(os.environ["INTERLOCK_TEST_KEYS"])
OUR_KEY_IDS = {made["id"] for made in KEYS.values()}
# Integers beyond it are refused: JSON Schema cannot say so of values whose type is open.
MAX_SAFE_INTEGER = 2**53 - 1
LONGEST_WAIT_MS = 50
COUNT = itertools.count()
# So many that most of them are not taken over from another session, so few that a list of them is short.
WORKERS = 50
there = There(os.environ["INTERLOCK_TEST_BASE"], KEYS)


@schemathesis.auth(refresh_interval=None)
class Key:
    """A key of the first kind that the document names at the call."""

    def get(self, case, ctx):
        requirements = ctx.operation.definition.raw.get("security", [])
        kinds = [kind for requirement in requirements for kind in requirement.get("key", [])]
        return KEYS[kinds[0]]["key"] if kinds else None

    def set(self, case, data, ctx):
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw["operationId"]
    query = case.query or {}
    # Only to save time: a long poll of 30 s is as good as one of 50 ms.
    wait = query.get("waitMs")
    if isinstance(wait, int) and LONGEST_WAIT_MS < wait <= 30_000:
        query["waitMs"] = LONGEST_WAIT_MS
    # A run that revokes its own keys would see nothing but 401 from then on.
    if operation == "revokeKey" and (case.path_parameters or {}).get("id") in OUR_KEY_IDS:
        case.path_parameters["id"] = "key_0"
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    case.body = i_json(case.body)
    if not isinstance(case.body, dict):
        return
    # Two places that have to agree.
    if operation == "submit" and "Idempotency-Key" in (case.headers or {}):
        case.body.pop("idempotencyKey", None)
    # A story begins with a task of its own, one that can be claimed now: else few of them come to a report.
    if operation == "submit" and case.meta.phase.name is TestPhase.STATEFUL:
        case.headers.pop("Idempotency-Key", None)
        for name in ("idempotencyKey", "notBeforeAt", "policy"):
            case.body.pop(name, None)
    if case.meta.phase.name is not TestPhase.STATEFUL:
        about_something(case, operation)
    # An instant that has to lie ahead.
    if operation == "newKey" and isinstance(case.body.get("expiresAt"), str):
        case.body["expiresAt"] = "2999" + case.body["expiresAt"][4:].replace("-02-29", "-02-28")


def about_something(case, operation):
    """Names out of the air are answered with 404, doubled ones with 409, which says little of the rest of the case."""
    if operation.startswith("report") and "attemptId" in case.path_parameters:
        attempt = there.attempt(cancelling=operation == "reportCancelled")
        case.path_parameters["attemptId"] = attempt["attemptId"]
        case.body.update({name: attempt[name] for name in ("taskId", "fence", "leaseToken")})
        if "sessionId" in case.body:
            case.body["sessionId"] = WORKER["sessionId"]
        return
    worker_id = f"schemathesis-{next(COUNT) % WORKERS}"
    if operation == "present":
        case.path_parameters["workerId"] = worker_id
    if operation == "claim":
        case.body["workerId"] = worker_id
    if operation == "submit" and case.meta.phase.name is TestPhase.EXAMPLES:
        # Made before: with an idempotency key the case brings back the first task.
        there.submit(case.body, case.headers)
    elif operation == "submit":
        for place, name in ((case.body, "idempotencyKey"), (case.headers, "Idempotency-Key")):
            if name in place:
                place[name] = f"{place[name]}-{next(COUNT)}"[-512:]
    makers = {
        "cancelTask": there.task,
        "retryTask": there.cancelled_task,
        "resolveTask": there.unknown_task,
    }
    if operation not in makers:
        return
    task = makers[operation]()
    case.path_parameters["id"] = task["id"]
    if "ifSeq" in case.body:
        case.body["ifSeq"] = task["seq"]


@schemathesis.hook
def filter_failure(context, failure, case, response):
    # "Wrong" in nothing but that it has no body, where the document says that it may have none.
    left_out = case.body is NOT_SET and not case.operation.definition.raw.get("requestBody", {}).get("required", True)
    return not (isinstance(failure, AcceptedNegativeData) and left_out and no_other_fault(case))


def no_other_fault(case):
    negated = {location.name for location, part in case.meta.components.items() if part.mode.is_negative}
    return negated <= {"BODY"}


def i_json(value):
    """The same as I-JSON: what a double cannot hold and a zero with a sign have no place in it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        return value % MAX_SAFE_INTEGER
    if isinstance(value, float) and value == 0:
        return 0
    if isinstance(value, list):
        return [i_json(item) for item in value]
    if isinstance(value, dict):
        return {name: i_json(item) for name, item in value.items()}
    return value
