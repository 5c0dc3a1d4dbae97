"""Shared by all checks: an unmodified boto3 client, and a list of checks to run.

Prints one line of JSON per check: {"title": ..., "error": null or a traceback}.
"""

import json
import os
import sys
import traceback
import urllib.request

import boto3
from botocore.exceptions import ClientError

ENDPOINT = sys.argv[1]
# All scripts share one server, so resource names contain the script and the boto3 version.
SCRIPT = os.path.basename(sys.argv[0]).partition("-")[0].partition(".")[0]
PREFIX = SCRIPT + "-" + boto3.__version__.replace(".", "-") + "-"
SETTINGS = {
    "endpoint_url": ENDPOINT,
    "region_name": "us-east-1",
    "aws_access_key_id": "test",
    "aws_secret_access_key": "test",
}
sqs = boto3.client("sqs", **SETTINGS)
SPEAKS_JSON = sqs.meta.service_model.metadata["protocol"] == "json"
LEGACY = "AWS.SimpleQueueService."

checks = []
names = iter(range(1_000_000))


def check(title):
    def register(function):
        checks.append((title, function))
        return function

    return register


def fresh(suffix=""):
    return PREFIX + str(next(names)) + suffix


def create(suffix="", **attributes):
    made = sqs.create_queue(QueueName=fresh(suffix), Attributes=attributes)
    return made["QueueUrl"]


def create_fifo(**attributes):
    return create(".fifo", FifoQueue="true", **attributes)


def attributes_of(url, *wanted):
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(wanted) or ["All"])
    return answer.get("Attributes", {})


def receive(url, **more):
    request = {"QueueUrl": url, "MaxNumberOfMessages": 10, **more}
    return sqs.receive_message(**request).get("Messages", [])


def bodies(url, **more):
    return [message["Body"] for message in receive(url, **more)]


def advance(seconds):
    body = json.dumps({"advanceMs": int(seconds * 1000)}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(ENDPOINT + "/_tidegate/clock", body, headers)
    urllib.request.urlopen(request).close()


def same(actual, expected):
    assert actual == expected, f"expected {expected!r}, got {actual!r}"


def refused(call, shape, code, status=400, **request):
    """Asserts that the call raises the class of `shape` with `code`; returns its message."""
    try:
        call(**request)
    except ClientError as error:
        fault = error.response["Error"]
        same(fault["Code"], code)
        same(error.response["ResponseMetadata"]["HTTPStatusCode"], status)
        assert error.response["ResponseMetadata"]["RequestId"], "no request id"
        if SPEAKS_JSON:
            same(fault["QueryErrorCode"], shape)
            same(fault["Type"], "Sender")
        if shape in dir(sqs.exceptions):
            expected = getattr(sqs.exceptions, shape)
            assert isinstance(error, expected), f"{type(error)} is not {shape}"
        return fault["Message"]
    raise AssertionError(f"not refused: {request!r}")


def run():
    for title, function in checks:
        try:
            function()
            error = None
        except Exception:
            error = traceback.format_exc(limit=-3)
        print(json.dumps({"title": title, "error": error}), flush=True)
