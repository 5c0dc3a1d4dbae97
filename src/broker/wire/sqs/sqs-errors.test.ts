import { describe, expect, test } from "vitest";
import { createWire } from "../../../../test/support/scripted-broker.ts";
import { TidegateError } from "../../../core/errors.ts";
import { type FaultName, refuse } from "../../model/fault.ts";
import { SQS_ERRORS, shortCode } from "./sqs-errors.ts";

/** Duplicated on purpose: clients depend on these values, so a change must be deliberate. */
const EXPECTED: readonly (readonly [FaultName, string, string, number])[] = [
  ["AccessDenied", "com.amazon.coral.service#AccessDeniedException", "AccessDenied;Sender", 403],
  [
    "AuthorizationError",
    "com.amazon.coral.service#AuthorizationErrorException",
    "AuthorizationError;Sender",
    403,
  ],
  [
    "BatchEntryIdsNotDistinct",
    "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
    "AWS.SimpleQueueService.BatchEntryIdsNotDistinct;Sender",
    400,
  ],
  [
    "BatchRequestTooLong",
    "com.amazonaws.sqs#BatchRequestTooLong",
    "AWS.SimpleQueueService.BatchRequestTooLong;Sender",
    400,
  ],
  [
    "EmptyBatchRequest",
    "com.amazonaws.sqs#EmptyBatchRequest",
    "AWS.SimpleQueueService.EmptyBatchRequest;Sender",
    400,
  ],
  [
    "IncompleteSignature",
    "com.amazon.coral.service#IncompleteSignatureException",
    "IncompleteSignature;Sender",
    400,
  ],
  ["InternalFailure", "com.amazon.coral.service#InternalFailure", "InternalFailure;Receiver", 500],
  [
    "InvalidAction",
    "com.amazon.coral.service#UnknownOperationException",
    "InvalidAction;Sender",
    400,
  ],
  [
    "InvalidAttributeName",
    "com.amazonaws.sqs#InvalidAttributeName",
    "InvalidAttributeName;Sender",
    400,
  ],
  [
    "InvalidAttributeValue",
    "com.amazonaws.sqs#InvalidAttributeValue",
    "InvalidAttributeValue;Sender",
    400,
  ],
  [
    "InvalidBatchEntryId",
    "com.amazonaws.sqs#InvalidBatchEntryId",
    "AWS.SimpleQueueService.InvalidBatchEntryId;Sender",
    400,
  ],
  [
    "InvalidClientTokenId",
    "com.amazon.coral.service#UnrecognizedClientException",
    "InvalidClientTokenId;Sender",
    403,
  ],
  [
    "InvalidMessageContents",
    "com.amazonaws.sqs#InvalidMessageContents",
    "InvalidMessageContents;Sender",
    400,
  ],
  [
    "InvalidParameter",
    "com.amazon.coral.service#InvalidParameterException",
    "InvalidParameter;Sender",
    400,
  ],
  [
    "InvalidParameterValue",
    "com.amazon.coral.service#InvalidParameterValueException",
    "InvalidParameterValue;Sender",
    400,
  ],
  ["InvalidState", "com.amazon.coral.service#InvalidStateException", "InvalidState;Sender", 400],
  [
    "MalformedInput",
    "com.amazon.coral.service#SerializationException",
    "MalformedInput;Sender",
    400,
  ],
  [
    "MessageNotInflight",
    "com.amazonaws.sqs#MessageNotInflight",
    "AWS.SimpleQueueService.MessageNotInflight;Sender",
    400,
  ],
  [
    "MissingAuthenticationToken",
    "com.amazon.coral.service#MissingAuthenticationTokenException",
    "MissingAuthenticationToken;Sender",
    403,
  ],
  [
    "MissingParameter",
    "com.amazon.coral.service#MissingRequiredParameterException",
    "MissingParameter;Sender",
    400,
  ],
  ["NotFound", "com.amazon.coral.service#NotFoundException", "NotFound;Sender", 404],
  ["OverLimit", "com.amazonaws.sqs#OverLimit", "OverLimit;Sender", 403],
  [
    "ParameterValueInvalid",
    "com.amazon.coral.service#InvalidParameterValueException",
    "ParameterValueInvalid;Sender",
    400,
  ],
  [
    "PurgeQueueInProgress",
    "com.amazonaws.sqs#PurgeQueueInProgress",
    "AWS.SimpleQueueService.PurgeQueueInProgress;Sender",
    403,
  ],
  [
    "QueueDeletedRecently",
    "com.amazonaws.sqs#QueueDeletedRecently",
    "AWS.SimpleQueueService.QueueDeletedRecently;Sender",
    400,
  ],
  [
    "QueueDoesNotExist",
    "com.amazonaws.sqs#QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue;Sender",
    400,
  ],
  ["QueueNameExists", "com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists;Sender", 400],
  [
    "ReceiptHandleIsInvalid",
    "com.amazonaws.sqs#ReceiptHandleIsInvalid",
    "ReceiptHandleIsInvalid;Sender",
    404,
  ],
  [
    "RequestTooLarge",
    "com.amazon.coral.service#RequestEntityTooLargeException",
    "RequestEntityTooLarge;Sender",
    413,
  ],
  [
    "ResourceNotFound",
    "com.amazonaws.sqs#ResourceNotFoundException",
    "ResourceNotFoundException;Sender",
    404,
  ],
  [
    "ServiceUnavailable",
    "com.amazon.coral.service#ServiceUnavailable",
    "ServiceUnavailable;Receiver",
    503,
  ],
  [
    "SignatureDoesNotMatch",
    "com.amazon.coral.service#InvalidSignatureException",
    "SignatureDoesNotMatch;Sender",
    403,
  ],
  [
    "TagLimitExceeded",
    "com.amazon.coral.service#TagLimitExceededException",
    "TagLimitExceeded;Sender",
    400,
  ],
  ["Throttled", "com.amazonaws.sqs#RequestThrottled", "RequestThrottled;Sender", 403],
  [
    "TooManyEntriesInBatchRequest",
    "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
    "AWS.SimpleQueueService.TooManyEntriesInBatchRequest;Sender",
    400,
  ],
  [
    "UnsupportedOperation",
    "com.amazonaws.sqs#UnsupportedOperation",
    "AWS.SimpleQueueService.UnsupportedOperation;Sender",
    400,
  ],
  [
    "ValidationError",
    "com.amazon.coral.service#ValidationException",
    "ValidationError;Sender",
    400,
  ],
];

test("every fault of the broker has an expected error", () => {
  expect(EXPECTED.map(([name]) => name)).toEqual(Object.keys(SQS_ERRORS).sort());
});

describe.each(EXPECTED)("%s", (name, type, header, status) => {
  const wire = createWire({ purgeQueue: () => refuse(name, `it is "so" & <not> otherwise\r`) });

  test("has AWS's type, header and status in the JSON protocol", async () => {
    const reply = await wire.json("PurgeQueue", { QueueUrl: "q" });
    expect(reply.status).toBe(status);
    expect(reply.headers["x-amzn-query-error"]).toBe(header);
    expect(reply.headers["content-type"]).toBe("application/x-amz-json-1.0");
    expect(reply.value).toEqual({ __type: type, message: `it is "so" & <not> otherwise\r` });
  });

  test("has the legacy code and a Detail in the query protocol", async () => {
    const reply = await wire.form({ Action: "PurgeQueue", QueueUrl: "q" });
    const [code, side] = header.split(";");
    expect(reply.status).toBe(status);
    expect(reply.headers["content-type"]).toBe("text/xml");
    expect(reply.text).toContain(
      '<ErrorResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><Error>' +
        `<Type>${side}</Type><Code>${code}</Code>` +
        "<Message>it is &quot;so&quot; &amp; &lt;not&gt; otherwise&#xD;</Message><Detail/></Error>",
    );
  });
});

test("failed batch entries have codes without the legacy prefix", () => {
  expect(shortCode("QueueDoesNotExist")).toBe("NonExistentQueue");
  expect(shortCode("ReceiptHandleIsInvalid")).toBe("ReceiptHandleIsInvalid");
  expect(shortCode("InvalidParameterValue")).toBe("InvalidParameterValue");
});

describe("if the broker fails", () => {
  function failing(error: unknown) {
    return createWire({
      purgeQueue: () => {
        throw error;
      },
    });
  }

  test("an unavailable store is 503, and its error is reported to the operator", async () => {
    const error = new TidegateError("TG_STORE_UNAVAILABLE", "no space on /secret/disk");
    const wire = failing(error);
    const reply = await wire.json("PurgeQueue", { QueueUrl: "q" });
    expect(reply.status).toBe(503);
    expect(reply.headers["x-amzn-query-error"]).toBe("ServiceUnavailable;Receiver");
    expect(reply.text).not.toContain("secret");
    expect(wire.errors).toEqual([error]);
  });

  test("any other error is 500 without its cause, in both protocols", async () => {
    const wire = failing(new TypeError("secret stack"));
    const json = await wire.json("PurgeQueue", { QueueUrl: "q" });
    const query = await wire.form({ Action: "PurgeQueue", QueueUrl: "q" });
    expect([json.status, query.status]).toEqual([500, 500]);
    expect(json.value.__type).toBe("com.amazon.coral.service#InternalFailure");
    expect(query.text).toContain("<Type>Receiver</Type><Code>InternalFailure</Code>");
    expect(json.text + query.text).not.toContain("secret");
    expect(wire.errors).toHaveLength(2);
  });

  test("a client that disconnects is not reported as an error", async () => {
    const reason = new Error("gone");
    const wire = failing(reason);
    await wire.send({
      method: "POST",
      headers: { "x-amz-target": "AmazonSQS.PurgeQueue" },
      body: Buffer.from('{"QueueUrl":"q"}'),
      signal: AbortSignal.abort(reason),
    });
    expect(wire.errors).toEqual([]);
  });
});
