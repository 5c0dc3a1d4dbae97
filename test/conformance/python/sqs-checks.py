"""Checks of the embedded SQS with boto3, unmodified.

Usage: python3 sqs-checks.py ENDPOINT
Older versions of botocore use the query protocol, newer ones JSON; both must pass.
The endpoint needs a virtual clock: no check sleeps.
"""

import hashlib
import json
import threading

import boto3

from harness import (
    ENDPOINT,
    LEGACY,
    SETTINGS,
    SPEAKS_JSON,
    advance,
    attributes_of,
    bodies,
    check,
    create,
    create_fifo,
    fresh,
    receive,
    refused,
    run,
    same,
    sqs,
)


@check("[7] a missing queue raises QueueDoesNotExist, with its legacy code")
def absent_queue():
    code = LEGACY + "NonExistentQueue"
    message = refused(sqs.get_queue_url, "QueueDoesNotExist", code, QueueName="nowhere")
    wsdl = "" if SPEAKS_JSON else " for this wsdl version"
    same(message, f"The specified queue does not exist{wsdl}.")


@check("[6] every refusal raises its own class, code and status")
def refusals():
    url = create()
    batch = [{"Id": "a", "ReceiptHandle": "x"}]
    rows = [
        (sqs.delete_message, "ReceiptHandleIsInvalid", None, 404, {"ReceiptHandle": "x"}),
        (sqs.send_message, "InvalidMessageContents", None, 400, {"MessageBody": "\x01"}),
        (sqs.get_queue_attributes, "InvalidAttributeName", None, 400, {"AttributeNames": ["No"]}),
        (sqs.delete_message_batch, "EmptyBatchRequest", LEGACY, 400, {"Entries": []}),
        (sqs.delete_message_batch, "BatchEntryIdsNotDistinct", LEGACY, 400, {"Entries": batch * 2}),
    ]
    for call, shape, prefix, status, request in rows:
        refused(call, shape, (prefix or "") + shape, status, QueueUrl=url, **request)
    numbered = [{"Id": str(n), "ReceiptHandle": "x"} for n in range(11)]
    shape = "TooManyEntriesInBatchRequest"
    refused(sqs.delete_message_batch, shape, LEGACY + shape, QueueUrl=url, Entries=numbered)
    wrong = [{"Id": "a b", "ReceiptHandle": "x"}]
    shape = "InvalidBatchEntryId"
    refused(sqs.delete_message_batch, shape, LEGACY + shape, QueueUrl=url, Entries=wrong)
    listed = {"a": {"DataType": "String", "StringListValues": ["b"]}}
    request = {"QueueUrl": url, "MessageBody": "x", "MessageAttributes": listed}
    refused(sqs.send_message, "UnsupportedOperation", LEGACY + "UnsupportedOperation", **request)
    shape, code = "InvalidParameterValueException", "InvalidParameterValue"
    refused(sqs.create_queue, shape, code, QueueName="a b")
    shape, code = "MissingRequiredParameterException", "MissingParameter"
    refused(sqs.send_message, shape, code, QueueUrl=url, MessageBody="")


@check("[27] a queue is created with attributes and tags, again with the same, not with others")
def create_again():
    name = fresh()
    tags = {"team": "ingest", "empty": ""}
    attributes = {"DelaySeconds": "5", "VisibilityTimeout": "60"}
    url = sqs.create_queue(QueueName=name, Attributes=attributes, tags=tags)["QueueUrl"]
    same(url, f"{ENDPOINT}/000000000000/{name}")
    same(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"], url)
    same(sqs.get_queue_url(QueueName=name)["QueueUrl"], url)
    same(attributes_of(url, *attributes), attributes)
    same(sqs.list_queue_tags(QueueUrl=url)["Tags"], tags)
    request = {"QueueName": name, "Attributes": {"DelaySeconds": "6"}}
    refused(sqs.create_queue, "QueueNameExists", "QueueAlreadyExists", **request)


@check("[28] the name of a deleted queue is blocked for 60 seconds")
def delete_and_create():
    url = create()
    name = url.split("/")[-1]
    sqs.delete_queue(QueueUrl=url)
    shape = "QueueDeletedRecently"
    refused(sqs.create_queue, shape, LEGACY + shape, QueueName=name)
    advance(60)
    same(sqs.create_queue(QueueName=name)["QueueUrl"], url)


@check("[30] all attributes of a queue are returned as strings")
def all_attributes():
    standard = attributes_of(create())
    same(standard["VisibilityTimeout"], "30")
    same(standard["MaximumMessageSize"], "1048576")
    same(standard["SqsManagedSseEnabled"], "true")
    fifo = attributes_of(create_fifo())
    more = {"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"}
    same(set(fifo) - set(standard), more)
    same(sqs.get_queue_attributes(QueueUrl=create()).get("Attributes"), None)


@check("[32] attributes are set, and policies removed by an empty value")
def set_attributes():
    url = create()
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy, "DelaySeconds": "1"})
    same(attributes_of(url, "Policy", "DelaySeconds"), {"Policy": policy, "DelaySeconds": "1"})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})
    same(attributes_of(url, "Policy"), {})


@check("[19] bodies and attributes of every kind are returned with the right checksums")
def sums():
    url = create()
    attributes = {
        "blob": {"DataType": "Binary", "BinaryValue": bytes([1, 2, 3])},
        "color": {"DataType": "String", "StringValue": "blue"},
        "count": {"DataType": "Number", "StringValue": "3"},
    }
    sum_of_attributes = "d838729972a4b70e2d2acd9d59ac847c"
    sent = sqs.send_message(QueueUrl=url, MessageBody="body", MessageAttributes=attributes)
    same(sent["MD5OfMessageBody"], hashlib.md5(b"body").hexdigest())
    same(sent["MD5OfMessageAttributes"], sum_of_attributes)
    (message,) = receive(url, MessageAttributeNames=["All"])
    same(message["MessageId"], sent["MessageId"])
    same(message["MD5OfBody"], sent["MD5OfMessageBody"])
    same(message["MessageAttributes"], attributes)
    same(message["MD5OfMessageAttributes"], sum_of_attributes)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    same(attributes_of(url)["ApproximateNumberOfMessagesNotVisible"], "0")


@check("[15] text is preserved: carriage returns, markup, other scripts")
def text():
    url = create()
    body = "a\rb\r\nc\n\td <&>\"' 1+1=2 100%20;& äöü 日本 🌊 \u0085\ud7ff\ue000\ufffd"
    attributes = {"text": {"DataType": "String", "StringValue": body}}
    sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)
    (message,) = receive(url, MessageAttributeNames=["text"])
    same(message["Body"], body)
    same(message["MessageAttributes"], attributes)
    same(message["MD5OfBody"], hashlib.md5(body.encode()).hexdigest())


@check("[48] a batch reports the result of each entry")
def batches():
    url = create()
    entries = [{"Id": str(n), "MessageBody": f"body {n}"} for n in range(9)]
    sent = sqs.send_message_batch(
        QueueUrl=url, Entries=[*entries, {"Id": "bad", "MessageBody": "\x01"}]
    )
    same([entry["Id"] for entry in sent["Successful"]], [entry["Id"] for entry in entries])
    (failed,) = sent["Failed"]
    failure = (failed["Id"], failed["Code"], failed["SenderFault"])
    same(failure, ("bad", "InvalidMessageContents", True))
    messages = receive(url)
    same([message["Body"] for message in messages], [e["MessageBody"] for e in entries])
    handles = [
        {"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]}
        for message in messages
    ]
    changes = [{**handle, "VisibilityTimeout": 100} for handle in handles]
    changed = sqs.change_message_visibility_batch(QueueUrl=url, Entries=changes)
    same((len(changed["Successful"]), changed.get("Failed")), (9, None))
    deleted = sqs.delete_message_batch(QueueUrl=url, Entries=handles)
    same((len(deleted["Successful"]), deleted.get("Failed")), (9, None))


@check("[62] a message has its system attributes, requested by either list of names")
def system_attributes():
    url = create()
    trace = {"DataType": "String", "StringValue": "Root=1-5759e988"}
    system = {"AWSTraceHeader": trace}
    sqs.send_message(QueueUrl=url, MessageBody="x", MessageSystemAttributes=system)
    (message,) = receive(url, AttributeNames=["All"], VisibilityTimeout=0)
    same(message["Attributes"]["ApproximateReceiveCount"], "1")
    same(message["Attributes"]["AWSTraceHeader"], "Root=1-5759e988")
    if SPEAKS_JSON:
        (message,) = receive(url, MessageSystemAttributeNames=["ApproximateReceiveCount"])
        same(message["Attributes"], {"ApproximateReceiveCount": "2"})


@check("[52] a long poll ends with a message that is sent while it waits")
def long_poll():
    url = create()
    listed = []
    poll = threading.Thread(target=lambda: listed.extend(bodies(url, WaitTimeSeconds=20)))
    poll.start()
    boto3.client("sqs", **SETTINGS).send_message(QueueUrl=url, MessageBody="sent meanwhile")
    poll.join(30)
    same(listed, ["sent meanwhile"])


@check("[53] visibility: hidden until the timeout, returned by zero, extended by a change")
def visibility():
    url = create(VisibilityTimeout="10")
    sqs.send_message(QueueUrl=url, MessageBody="x")
    (first,) = receive(url)
    same(receive(url), [])
    advance(10)
    (second,) = receive(url)
    assert second["ReceiptHandle"] != first["ReceiptHandle"], "the handle is the same"
    handle = {"QueueUrl": url, "ReceiptHandle": second["ReceiptHandle"]}
    sqs.change_message_visibility(**handle, VisibilityTimeout=60)
    advance(59)
    same(receive(url), [])
    sqs.change_message_visibility(**handle, VisibilityTimeout=0)
    same(bodies(url), ["x"])


@check("[73] FIFO: order within groups, and a group is blocked by its messages in flight")
def fifo_order():
    url = create_fifo(ContentBasedDeduplication="true")
    numbers = []
    for group, body in (("a", "a1"), ("b", "b1"), ("a", "a2"), ("a", "a3")):
        sent = sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=group)
        numbers.append(sent["SequenceNumber"])
    same(numbers, sorted(set(numbers)))
    received = receive(url, MaxNumberOfMessages=2)
    same([message["Body"] for message in received], ["a1", "a2"])
    same(bodies(url), ["b1"])
    for message in received:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    same(bodies(url), ["a3"])


@check("[68] FIFO: a duplicate gets the response of the original for 5 minutes")
def fifo_duplicates():
    url = create_fifo()
    message = {"QueueUrl": url, "MessageGroupId": "g", "MessageDeduplicationId": "id"}
    original = sqs.send_message(MessageBody="one", **message)
    advance(299)
    again = sqs.send_message(MessageBody="two", **message)
    same(again["MessageId"], original["MessageId"])
    advance(1)
    later = sqs.send_message(MessageBody="three", **message)
    assert later["MessageId"] != original["MessageId"], "still a duplicate after five minutes"
    same(bodies(url), ["one", "three"])


@check("[81] a dead letter moves on the receive that exceeds the count, with its source ARN")
def dead_letters():
    target = create()
    arn = attributes_of(target)["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": "1"})
    source = create(RedrivePolicy=policy)
    same(json.loads(attributes_of(source)["RedrivePolicy"])["maxReceiveCount"], 1)
    sent = sqs.send_message(QueueUrl=source, MessageBody="x")
    same(bodies(source, VisibilityTimeout=0), ["x"])
    same(bodies(source), [])
    (dead,) = receive(target, AttributeNames=["All"])
    same(dead["MessageId"], sent["MessageId"])
    same(dead["Attributes"]["ApproximateReceiveCount"], "2")
    source_arn = attributes_of(source)["QueueArn"]
    same(dead["Attributes"]["DeadLetterQueueSourceArn"], source_arn)
    pages = sqs.get_paginator("list_dead_letter_source_queues").paginate(QueueUrl=target)
    same([url for page in pages for url in page["queueUrls"]], [source])


@check("[85] a move task returns dead letters to their source, if the client supports such tasks")
def move_tasks():
    if not hasattr(sqs, "start_message_move_task"):
        return
    target = create()
    arn = attributes_of(target)["QueueArn"]
    source = create(RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1}))
    sqs.send_message(QueueUrl=source, MessageBody="x")
    receive(source, VisibilityTimeout=0)
    receive(source)
    handle = sqs.start_message_move_task(SourceArn=arn)["TaskHandle"]
    advance(1)
    (task,) = sqs.list_message_move_tasks(SourceArn=arn)["Results"]
    same((task["Status"], task["ApproximateNumberOfMessagesMoved"]), ("COMPLETED", 1))
    same(bodies(source), ["x"])
    shape, code = "InvalidParameterValueException", "InvalidParameterValue"
    refused(sqs.cancel_message_move_task, shape, code, TaskHandle=handle)
    shape = "ResourceNotFoundException"
    refused(sqs.start_message_move_task, shape, shape, 404, SourceArn=arn + "-not")


@check("[65] a purge empties a queue, once a minute")
def purge():
    url = create()
    sqs.send_message(QueueUrl=url, MessageBody="x")
    sqs.purge_queue(QueueUrl=url)
    same(receive(url), [])
    shape = "PurgeQueueInProgress"
    refused(sqs.purge_queue, shape, LEGACY + shape, 403, QueueUrl=url)


@check("[37] permissions are added and removed")
def permissions():
    url = create()
    account = "111122223333"
    request = {"QueueUrl": url, "Label": "l", "AWSAccountIds": [account], "Actions": ["SendMessage"]}
    sqs.add_permission(**request)
    (statement,) = json.loads(attributes_of(url)["Policy"])["Statement"]
    same(statement["Principal"], {"AWS": f"arn:aws:iam::{account}:root"})
    eight = {**request, "Label": "m", "Actions": ["SendMessage"] * 8}
    refused(sqs.add_permission, "OverLimit", "OverLimit", 403, **eight)
    sqs.remove_permission(QueueUrl=url, Label="l")
    same(attributes_of(url, "Policy"), {})


@check("[38] tags are set and removed")
def tags():
    url = create()
    same(sqs.list_queue_tags(QueueUrl=url).get("Tags"), None)
    sqs.tag_queue(QueueUrl=url, Tags={"a": "1", "A": "", "ü": "日本"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["a", "never"])
    same(sqs.list_queue_tags(QueueUrl=url)["Tags"], {"A": "", "ü": "日本"})


@check("queues are listed in pages")
def pages():
    prefix = fresh("-page-")
    urls = [sqs.create_queue(QueueName=f"{prefix}{n}")["QueueUrl"] for n in range(5)]
    paginator = sqs.get_paginator("list_queues")
    listed = list(paginator.paginate(QueueNamePrefix=prefix, PaginationConfig={"PageSize": 2}))
    sizes = [len(page["QueueUrls"]) for page in listed]
    same(sizes, [2, 2, 1])
    same(sorted(url for page in listed for url in page["QueueUrls"]), urls)
    same(sqs.list_queues(QueueNamePrefix=prefix + "no").get("QueueUrls"), None)


@check("boto3's resource API works")
def resources():
    queue = boto3.resource("sqs", **SETTINGS).create_queue(QueueName=fresh())
    queue.send_message(MessageBody="x", MessageAttributes={})
    (message,) = queue.receive_messages(WaitTimeSeconds=1)
    same(message.body, "x")
    message.change_visibility(VisibilityTimeout=5)
    message.delete()
    queue.reload()
    same(queue.attributes["ApproximateNumberOfMessagesNotVisible"], "0")


run()
