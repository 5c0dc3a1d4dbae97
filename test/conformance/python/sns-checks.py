"""Checks of the embedded SNS with boto3; titles start with the numbers of the facts they show."""

import json

from botocore.exceptions import ClientError

from harness import SETTINGS, advance, boto3, check, create, create_fifo, fresh, receive, run, same

sns = boto3.client("sns", **SETTINGS)


def topic(suffix="", **attributes):
    return sns.create_topic(Name=fresh(suffix), Attributes=attributes)["TopicArn"]


def arn(url):
    return "arn:aws:sqs:us-east-1:000000000000:" + url.rsplit("/", 1)[1]


def subscribe(topic_arn, url, **attributes):
    request = {"TopicArn": topic_arn, "Protocol": "sqs", "Endpoint": arn(url)}
    return sns.subscribe(**request, Attributes=attributes)["SubscriptionArn"]


def refusal(call, code, status, **request):
    try:
        call(**request)
    except ClientError as error:
        same(error.response["Error"]["Code"], code)
        same(error.response["Error"]["Type"], "Sender")
        same(error.response["ResponseMetadata"]["HTTPStatusCode"], status)
        return error.response["Error"]["Message"]
    raise AssertionError(f"not refused: {request!r}")


@check("[91] a notification reaches the queue in its envelope, with attributes and bytes")
def envelope():
    to, url = topic(), create()
    subscribe(to, url)
    attributes = {
        "color": {"DataType": "String", "StringValue": "blå"},
        "blob": {"DataType": "Binary", "BinaryValue": b"\x01\x02\x03"},
    }
    request = {"Message": "hej på dig", "Subject": "S", "MessageAttributes": attributes}
    sent = sns.publish(TopicArn=to, **request)["MessageId"]
    (message,) = receive(url)
    reply = json.loads(message["Body"])
    same(reply["MessageId"], sent)
    same((reply["Type"], reply["TopicArn"], reply["Subject"]), ("Notification", to, "S"))
    same(reply["Message"], "hej på dig")
    same(reply["MessageAttributes"]["color"], {"Type": "String", "Value": "blå"})
    same(reply["MessageAttributes"]["blob"], {"Type": "Binary", "Value": "AQID"})


@check("[93] raw delivery sends only the message, and passes its attributes on")
def raw():
    to, url = topic(), create()
    subscribe(to, url, RawMessageDelivery="true")
    attributes = {"n": {"DataType": "Number", "StringValue": "3"}}
    sns.publish(TopicArn=to, Message="bare", MessageAttributes=attributes)
    (message,) = receive(url, MessageAttributeNames=["All"])
    same(message["Body"], "bare")
    same(message["MessageAttributes"]["n"], {"DataType": "Number", "StringValue": "3"})


@check("[100][101] a filter policy selects messages, and an invalid one is refused")
def filters():
    to, url = topic(), create()
    made = subscribe(to, url, FilterPolicy=json.dumps({"kind": ["a", {"prefix": "b"}]}))
    for kind in ["a", "bc", "c"]:
        attributes = {"kind": {"DataType": "String", "StringValue": kind}}
        sns.publish(TopicArn=to, Message=kind, MessageAttributes=attributes)
    same(sorted(json.loads(m["Body"])["Message"] for m in receive(url)), ["a", "bc"])
    reply = sns.get_subscription_attributes(SubscriptionArn=made)["Attributes"]
    same(reply["FilterPolicyScope"], "MessageAttributes")
    wrong = {"AttributeName": "FilterPolicy", "AttributeValue": '{"kind": "a"}'}
    request = {"SubscriptionArn": made, **wrong}
    refusal(sns.set_subscription_attributes, "InvalidParameter", 400, **request)


@check("[94][96] a FIFO topic passes group and id on, and deduplicates for 5 minutes")
def fifo():
    to, url = topic(".fifo", FifoTopic="true"), create_fifo()
    subscribe(to, url, RawMessageDelivery="true")
    request = {"TopicArn": to, "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    assert sns.publish(Message="1", **request)["SequenceNumber"]
    sns.publish(Message="2", **request)
    (message,) = receive(url, AttributeNames=["All"])
    same(message["Body"], "1")
    same(message["Attributes"]["MessageGroupId"], "g")
    same(message["Attributes"]["MessageDeduplicationId"], "d")
    advance(301)
    sns.publish(Message="3", **request)
    same({m["Body"] for m in receive(url)} >= {"3"}, True)


@check("[90] a batch reports the result of each entry")
def batch():
    to, url = topic(), create()
    subscribe(to, url, RawMessageDelivery="true")
    entries = [{"Id": str(number), "Message": f"m{number}"} for number in range(10)]
    done = sns.publish_batch(TopicArn=to, PublishBatchRequestEntries=entries)
    same(len(done["Successful"]), 10)
    same(done.get("Failed", []), [])
    same(sorted(m["Body"] for m in receive(url)), [f"m{number}" for number in range(10)])
    long = {"TopicArn": to, "Message": "x" * 262_145}
    refusal(sns.publish, "InvalidParameter", 400, **long)


@check("[98] publishing to a missing topic is refused, and deleting is idempotent")
def missing():
    to = topic()
    sns.delete_topic(TopicArn=to)
    sns.delete_topic(TopicArn=to)
    message = refusal(sns.publish, "NotFound", 404, TopicArn=to, Message="x")
    same(message, "Topic does not exist")
    refusal(sns.get_topic_attributes, "NotFound", 404, TopicArn=to)


@check("[97] topics, subscriptions and tags are listed in pages")
def lists():
    to = topic()
    made = [subscribe(to, create()) for _ in range(3)]
    pages = sns.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=to)
    same(sorted(s["SubscriptionArn"] for p in pages for s in p["Subscriptions"]), sorted(made))
    same(subscribe(to, create()) in made, False)
    topics = sns.get_paginator("list_topics").paginate()
    same([t["TopicArn"] for p in topics for t in p["Topics"]].count(to), 1)
    sns.tag_resource(ResourceArn=to, Tags=[{"Key": "k", "Value": "v"}])
    same(sns.list_tags_for_resource(ResourceArn=to)["Tags"], [{"Key": "k", "Value": "v"}])
    sns.untag_resource(ResourceArn=to, TagKeys=["k"])
    same(sns.list_tags_for_resource(ResourceArn=to)["Tags"], [])


run()
