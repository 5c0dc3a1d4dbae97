"""Runs the whole chain with boto3 and prints the messages of both queues as one JSON document.

Arguments: the endpoint, a name for all resources, the key, the body, and the filter policy.
"""

import json
import sys

import boto3
from botocore.config import Config

ENDPOINT, NAME, KEY, BODY, FILTER = sys.argv[1:6]
SETTINGS = {
    "endpoint_url": ENDPOINT,
    "region_name": "us-east-1",
    "aws_access_key_id": "test",
    "aws_secret_access_key": "test",
}
sqs = boto3.client("sqs", **SETTINGS)
sns = boto3.client("sns", **SETTINGS)
s3 = boto3.client("s3", **SETTINGS, config=Config(s3={"addressing_style": "path"}))

topic = sns.create_topic(Name=NAME)["TopicArn"]


def subscribed(name, **attributes):
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    reply = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    endpoint = reply["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=endpoint, Attributes=attributes)
    return url


def bodies(url):
    answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
    return [message["Body"] for message in answer.get("Messages", [])]


raw = subscribed(NAME + "-raw", RawMessageDelivery="true")
filtered = subscribed(NAME + "-filtered", FilterPolicy=FILTER, FilterPolicyScope="MessageBody")
s3.create_bucket(Bucket=NAME)
rule = {"Id": "chain", "TopicArn": topic, "Events": ["s3:ObjectCreated:*"]}
s3.put_bucket_notification_configuration(
    Bucket=NAME, NotificationConfiguration={"TopicConfigurations": [rule]}
)
put = s3.put_object(Bucket=NAME, Key=KEY, Body=BODY.encode())["ResponseMetadata"]
s3.put_object(Bucket=NAME, Key="elsewhere", Body=b"")
document = {
    "topicArn": topic,
    "requestId": put["RequestId"],
    "hostId": put["HostId"],
    "raw": bodies(raw),
    "filtered": bodies(filtered),
}
print(json.dumps(document))
