"""Signs requests with botocore, in every way that it knows, and prints what was checked."""

import json
import sys
import urllib.request
from urllib.error import HTTPError

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

endpoint, keys = sys.argv[1], json.loads(sys.argv[2])


def client(service, key, **config):
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=key["accessKeyId"],
        aws_secret_access_key=key["secretAccessKey"],
        aws_session_token=key.get("sessionToken"),
        config=Config(retries={"max_attempts": 0}, **config),
    )


def status(url, method="GET", body=None, headers=None):
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        return urllib.request.urlopen(request).status
    except HTTPError as error:
        return error.code


def refused(call):
    try:
        call()
    except ClientError as error:
        return error.response["Error"]["Code"]
    raise AssertionError("was not refused")


def flip(url):
    """Changes one character of the signature, and of it only."""
    name = "X-Amz-Signature=" if "X-Amz-Signature=" in url else "Signature="
    at = url.index(name) + len(name)
    return url[:at] + ("1" if url[at] == "0" else "0") + url[at + 1 :]


for key in keys:
    suffix = key["accessKeyId"].lower()
    sqs, sns = client("sqs", key), client("sns", key)
    url = sqs.create_queue(QueueName="py-" + suffix)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="k\u00f6rper")
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1
    sns.create_topic(Name="py-" + suffix)
    wrong = dict(key, secretAccessKey="other")
    assert refused(client("sqs", wrong).list_queues) == "SignatureDoesNotMatch"
    assert refused(client("sns", wrong).list_topics) == "SignatureDoesNotMatch"
    unknown = dict(key, accessKeyId="AKIDNOBODY")
    assert refused(client("sqs", unknown).list_queues) == "InvalidClientTokenId"
    assert refused(client("s3", unknown).list_buckets) == "InvalidAccessKeyId"
    print("headers")

    s3 = client("s3", key, s3={"addressing_style": "path"})
    bucket = "py-" + suffix
    s3.create_bucket(Bucket=bucket)
    name = "dir/a b+c@(1)!'*~\u00fc.txt"
    s3.put_object(Bucket=bucket, Key=name, Body=b"bytes", Metadata={"color": "blue"})
    assert s3.get_object(Bucket=bucket, Key=name)["Body"].read() == b"bytes"
    assert s3.list_objects_v2(Bucket=bucket, Prefix="dir/a b+")["KeyCount"] == 1
    unsigned = client("s3", key, s3={"addressing_style": "path", "payload_signing_enabled": False})
    unsigned.put_object(Bucket=bucket, Key="unsigned", Body=b"bytes")
    signed = client("s3", key, s3={"addressing_style": "path", "payload_signing_enabled": True})
    signed.put_object(Bucket=bucket, Key="signed", Body=b"bytes")
    print("objects")

    for version, label in (("s3v4", "presigned v4"), ("s3", "presigned v2")):
        presigner = client("s3", key, signature_version=version, s3={"addressing_style": "path"})
        for method, verb, extra in (
            ("get_object", "GET", {"ResponseContentType": "text/x-test"}),
            ("head_object", "HEAD", {}),
            ("put_object", "PUT", {"Metadata": {"shape": "round"}}),
        ):
            params = {"Bucket": bucket, "Key": name, **extra}
            link = presigner.generate_presigned_url(method, Params=params, ExpiresIn=60)
            body = b"bytes" if verb == "PUT" else None
            headers = {"Content-Type": ""} if verb == "PUT" else {}
            if verb == "PUT":
                headers["x-amz-meta-shape"] = "round"
            if "x-amz-meta-shape=" in link:
                headers.pop("x-amz-meta-shape", None)
            assert status(link, verb, body, headers) == 200, (label, method, link)
            assert status(flip(link), verb, body, headers) == 403, (label, method)
            other = link.replace("/dir/", "/dix/")
            assert status(other, verb, body, headers) == 403, (label, method)
        print(label)

print("all checked")
