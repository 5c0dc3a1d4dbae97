"""Checks of the embedded S3 with boto3; titles start with the numbers of the facts they show."""

import io
import json
import urllib.request

from botocore.config import Config

from harness import SETTINGS, boto3, check, create, fresh, receive, run, same
from botocore.exceptions import ClientError

s3 = boto3.client("s3", **SETTINGS, config=Config(s3={"addressing_style": "path"}))
MIB = 1024 * 1024


def bucket():
    name = fresh()
    s3.create_bucket(Bucket=name)
    return name


def arn(url):
    return "arn:aws:sqs:us-east-1:000000000000:" + url.rsplit("/", 1)[1]


def code_of(call, **request):
    try:
        call(**request)
    except ClientError as error:
        return error.response["Error"]["Code"]
    raise AssertionError(f"not refused: {request!r}")


@check("[120] an object is uploaded and downloaded with its metadata")
def object_round_trip():
    name = bucket()
    put = s3.put_object(Bucket=name, Key="å +", Body=b"hello", Metadata={"a": "b"})
    same(put["ETag"], '"5d41402abc4b2a76b9719d911017c592"')
    got = s3.get_object(Bucket=name, Key="å +")
    same(got["Body"].read(), b"hello")
    same(got["Metadata"], {"a": "b"})
    same(s3.get_object(Bucket=name, Key="å +", Range="bytes=1-2")["Body"].read(), b"el")


@check("[120] a file object is uploaded in parts")
def multipart():
    name = bucket()
    body = bytes(range(256)) * (9 * MIB // 256)
    s3.upload_fileobj(io.BytesIO(body), name, "big")
    head = s3.head_object(Bucket=name, Key="big")
    same(head["ContentLength"], len(body))
    assert head["ETag"].endswith('-2"'), head["ETag"]
    back = io.BytesIO()
    s3.download_fileobj(name, "big", back)
    same(back.getvalue() == body, True)


@check("[109][113] the event of a put has the encoded key and the ids of the response")
def event():
    name = bucket()
    url = create()
    rule = {"QueueArn": arn(url), "Events": ["s3:ObjectCreated:*"]}
    configuration = {"QueueConfigurations": [rule]}
    s3.put_bucket_notification_configuration(Bucket=name, NotificationConfiguration=configuration)
    put = s3.put_object(Bucket=name, Key="a b/ü+", Body=b"x")
    bodies = [json.loads(message["Body"]) for message in receive(url)]
    same(bodies[0]["Event"], "s3:TestEvent")
    record = bodies[1]["Records"][0]
    same(record["s3"]["object"]["key"], "a+b/%C3%BC%2B")
    same(record["responseElements"]["x-amz-request-id"], put["ResponseMetadata"]["RequestId"])


@check("objects are listed in pages, with common prefixes")
def listing():
    name = bucket()
    for key in ["a/1", "a/2", "b", "c/ü 1"]:
        s3.put_object(Bucket=name, Key=key, Body=b"")
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=name, PaginationConfig={"PageSize": 1}
    )
    same([o["Key"] for p in pages for o in p["Contents"]], ["a/1", "a/2", "b", "c/ü 1"])
    rolled = s3.list_objects_v2(Bucket=name, Delimiter="/")
    same([p["Prefix"] for p in rolled["CommonPrefixes"]], ["a/", "c/"])


@check("versions and delete markers can be read and deleted")
def versions():
    name = bucket()
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    first = s3.put_object(Bucket=name, Key="k", Body=b"1")["VersionId"]
    s3.delete_object(Bucket=name, Key="k")
    same(code_of(s3.get_object, Bucket=name, Key="k"), "NoSuchKey")
    same(s3.get_object(Bucket=name, Key="k", VersionId=first)["Body"].read(), b"1")
    boto3.resource("s3", **SETTINGS).Bucket(name).object_versions.delete()
    s3.delete_bucket(Bucket=name)


@check("refusals have the codes that boto3 expects")
def refusals():
    name = bucket()
    same(code_of(s3.get_object, Bucket=name, Key="k"), "NoSuchKey")
    same(code_of(s3.head_object, Bucket=name, Key="k"), "404")
    same(code_of(s3.list_objects_v2, Bucket="nowhere-at-all"), "NoSuchBucket")
    same(code_of(s3.get_bucket_tagging, Bucket=name), "NoSuchTagSet")
    s3.put_object(Bucket=name, Key="k", Body=b"x")
    same(code_of(s3.delete_bucket, Bucket=name), "BucketNotEmpty")


@check("a presigned URL puts and gets")
def presigned():
    request = {"Bucket": bucket(), "Key": "a b"}
    put = s3.generate_presigned_url("put_object", Params=request)
    urllib.request.urlopen(urllib.request.Request(put, b"hello", method="PUT")).close()
    get = s3.generate_presigned_url("get_object", Params=request)
    with urllib.request.urlopen(get) as answer:
        same(answer.read(), b"hello")


run()
