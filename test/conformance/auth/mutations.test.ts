// Every single change of a signed request is refused, and the signed request itself is not.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { durationMs } from "../../../src/core/units.ts";
import {
  KEY,
  openSigned,
  type Plain,
  plainRequest,
  sign,
  sns,
  sqs,
  TEMPORARY,
} from "../../support/signed-requests.ts";

let world: Awaited<ReturnType<typeof openSigned>>;
const TOPIC = "arn:aws:sns:us-east-1:000000000000:t";

beforeAll(async () => {
  world = await openSigned();
  const at = world.now();
  const make = async (plain: Plain, service: string) => {
    const answer = await world.send(await sign(plain, { at, service }));
    expect(answer).toMatchObject({ status: 200 });
  };
  await make(sqs("CreateQueue", { QueueName: "q" }), "sqs");
  await make(sns({ Action: "CreateTopic", Name: "t" }), "sns");
  await make(plainRequest("PUT", "/bucket"), "s3");
});
afterAll(() => world.cloud.close());

/** Far more than the time between signing and answering. */
const MARGIN_MS = 60_000;

interface Sample {
  readonly name: string;
  readonly service: string;
  readonly plain: Plain;
  readonly presigned?: number;
}

const OBJECT = { headers: { "content-type": "text/plain", "x-amz-meta-color": "blue" } };

const SAMPLES: readonly Sample[] = [
  { name: "SQS, JSON", service: "sqs", plain: sqs("ListQueues", { QueueNamePrefix: "q" }) },
  {
    name: "SQS, a GET with a query",
    service: "sqs",
    plain: plainRequest("GET", "/000000000000/q", {
      query: "Action=GetQueueAttributes&AttributeName.1=All&Version=2012-11-05",
    }),
  },
  {
    name: "SNS, a form",
    service: "sns",
    plain: sns({ Action: "GetTopicAttributes", TopicArn: TOPIC }),
  },
  {
    name: "S3, a write",
    service: "s3",
    plain: plainRequest("PUT", "/bucket/dir/a%20b%2Bc.txt", { ...OBJECT, body: "some bytes" }),
  },
  {
    name: "S3, a read with a query",
    service: "s3",
    plain: plainRequest("GET", "/bucket", { query: "list-type=2&prefix=dir%2Fa%20b&max-keys=5" }),
  },
  {
    name: "S3, a presigned listing",
    service: "s3",
    plain: plainRequest("GET", "/bucket", { query: "list-type=2&prefix=dir%2F" }),
    presigned: 600,
  },
];

const CODES = new Set(
  (
    "SignatureDoesNotMatch AccessDenied InvalidClientTokenId IncompleteSignature " +
    "MissingAuthenticationToken InvalidAccessKeyId RequestTimeTooSkewed InvalidToken " +
    "AuthorizationHeaderMalformed AuthorizationQueryParametersError InvalidRequest " +
    "XAmzContentSHA256Mismatch InvalidArgument InvalidAction"
  ).split(" "),
);

function flipped(text: string, at: number): string {
  const code = text.charCodeAt(at);
  return `${text.slice(0, at)}${String.fromCharCode(code ^ 1)}${text.slice(at + 1)}`;
}

/** All single changes of a request, with a name each. */
function* mutationsOf(plain: Plain): Generator<[string, Plain]> {
  const { method, path, query, headers, body } = plain;
  yield ["another method", { ...plain, method: method === "GET" ? "POST" : "GET" }];
  yield ["a longer path", { ...plain, path: `${path}x` }];
  yield ["another last letter of the path", { ...plain, path: flipped(path, path.length - 1) }];
  yield ["one more parameter", { ...plain, query: `${query}${query === "" ? "" : "&"}a=b` }];
  const parameters = query === "" ? [] : query.split("&");
  for (const [index, parameter] of parameters.entries()) {
    const others = parameters.toSpliced(index, 1);
    yield [`without ${parameter}`, { ...plain, query: others.join("&") }];
    const changed = `${parameter}${parameter.includes("=") ? "" : "="}x`;
    yield [`another ${parameter}`, { ...plain, query: [...others, changed].join("&") }];
  }
  const listed = /SignedHeaders=([\w;%.-]+)/.exec(`${headers.authorization ?? ""} ${query}`)![1]!;
  const signed = [...decodeURIComponent(listed).split(";"), "authorization"];
  for (const [name, value] of Object.entries(headers)) {
    if (!signed.includes(name)) continue;
    const { [name]: _, ...others } = headers;
    yield [`without ${name}`, { ...plain, headers: others }];
    yield [`another ${name}`, { ...plain, headers: { ...headers, [name]: `${value}1` } }];
    yield [`another start of ${name}`, { ...plain, headers: { ...headers, [name]: `1${value}` } }];
  }
  yield ["one more header", { ...plain, headers: { ...headers, "x-amz-meta-more": "1" } }];
  if (body.length === 0) return;
  const bytes = Buffer.from(body as string);
  for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    yield [`another byte ${at}`, { ...plain, body: changed }];
  }
  yield ["a shorter body", { ...plain, body: bytes.subarray(1) }];
}

describe.each(SAMPLES)("$name", ({ service, plain, presigned }) => {
  test.each([KEY, TEMPORARY])("is accepted with the key $accessKeyId", async (key) => {
    const options = { at: world.now(), service, key, ...(presigned && { presigned }) };
    expect(await world.send(await sign(plain, options))).toMatchObject({ status: 200 });
  });

  test("is refused after any single change", async () => {
    const options = { at: world.now(), service, ...(presigned && { presigned }) };
    const signed = await sign(plain, options);
    let count = 0;
    for (const [name, mutated] of mutationsOf(signed)) {
      const answer = await world.send(mutated);
      expect([400, 403, 404, 405], `${name}: ${answer.text}`).toContain(answer.status);
      const isRouted = answer.status !== 404 && answer.status !== 405; // To an action at all.
      if (isRouted && answer.text !== "")
        expect(CODES, `${name}: ${answer.text}`).toContain(answer.code);
      count += 1;
    }
    expect(count).toBeGreaterThan(10);
  });

  test.each([
    ["another region", { region: "eu-west-1" }],
    ["another service", { service: "iam" }],
    ["an unknown key", { key: { ...KEY, accessKeyId: "AKIDOTHER" } }],
    ["another secret", { key: { ...KEY, secretAccessKey: "guessed" } }],
    ["no token", { key: { ...TEMPORARY, sessionToken: undefined } }],
    ["another token", { key: { ...TEMPORARY, sessionToken: "other" } }],
    ["a token without need", { key: { ...KEY, sessionToken: "other" } }],
  ])("is refused with %s", async (_, other) => {
    const options = { at: world.now(), service, ...(presigned && { presigned }), ...other };
    const answer = await world.send(await sign(plain, options as never));
    expect([400, 403]).toContain(answer.status);
    expect(CODES).toContain(answer.code);
  });

  test("is refused before and after its time", async () => {
    const span = presigned === undefined ? 900_000 : presigned * 1_000;
    for (const [offset, status] of [
      [-span - MARGIN_MS, 403],
      [-span + MARGIN_MS, 200],
      [900_000 - MARGIN_MS, 200],
      [900_000 + MARGIN_MS, 403],
    ] as const) {
      const options = { at: world.now() + offset, service, ...(presigned && { presigned }) };
      const answer = await world.send(await sign(plain, options));
      expect(answer.status, `${offset} ${answer.text}`).toBe(status);
    }
  });
});

test("signatures have the time of the machine, whatever the cloud's virtual time is", async () => {
  const list = plainRequest("GET", "/bucket", { query: "list-type=2" });
  await world.cloud.clock.advance(durationMs(16 * 60_000));
  for (const presigned of [undefined, 60]) {
    const options = { at: world.now(), service: "s3", ...(presigned && { presigned }) };
    expect(await world.send(await sign(list, options))).toMatchObject({ status: 200 });
  }
});

test("headers of UTF-8 are verified byte by byte: only spaces and tabs are spaces", async () => {
  const text = "à la carte, voilà";
  const plain = plainRequest("PUT", "/bucket/utf8", {
    headers: { "x-amz-meta-first": text, "x-amz-meta-spaces": " a \t  b " },
  });
  const signed = await sign(plain, { at: world.now(), service: "s3" });
  const received = Buffer.from(text).toString("latin1"); // As the listener reads bytes.
  const headers = { ...signed.headers, "x-amz-meta-first": received };
  expect(await world.send({ ...signed, headers })).toMatchObject({ status: 200 });
});

test.each(["constructor", "__proto__"])("a signed header named %s is refused", async (name) => {
  const signed = await sign(sqs("ListQueues", {}), { at: world.now() });
  const { authorization = "" } = signed.headers;
  const more = authorization.replace("SignedHeaders=", `SignedHeaders=${name};`);
  const answer = await world.send({
    ...signed,
    headers: { ...signed.headers, authorization: more },
  });
  expect(answer).toMatchObject({ status: 403, code: "SignatureDoesNotMatch" });
});
