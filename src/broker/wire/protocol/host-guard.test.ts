import { describe, expect, test } from "vitest";
import { HOST_FORMS } from "../../../../test/support/host-forms.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import { guardHosts, type HostGuardOptions } from "./host-guard.ts";

const LOOPBACK: HostGuardOptions = { loopback: true, allowedHosts: ["tidegate"] };

async function statusOf(
  headers: Readonly<Record<string, string>>,
  options: HostGuardOptions = LOOPBACK,
): Promise<number> {
  const handler = guardHosts(async () => ({ status: 200, headers: [], body: "" }), options);
  const request = { method: "GET", path: "/", query: "", headers } as unknown as HttpRequest;
  return (await handler(request)).status;
}

const SIGNATURE =
  "AWS4-HMAC-SHA256 Credential=any/20260302/us-east-1/sqs/aws4_request, " +
  "SignedHeaders=host;x-amz-date, Signature=00";
const STATUS = { always: [200, 200], signed: [403, 200], never: [403, 403] } as const;

describe("a server bound to loopback (G1)", () => {
  test.each(HOST_FORMS)("answers Host $written: $answered", async (form) => {
    const { written, sent, answered, rawAnswered = answered } = form;
    for (const [name, wanted] of [[written, rawAnswered] as const, [sent, answered] as const]) {
      for (const host of name === null ? [] : [name, `${name}:4566`]) {
        const unsigned = await statusOf({ host });
        const signed = await statusOf({ host, authorization: SIGNATURE });
        expect([host, unsigned, signed]).toEqual([host, ...STATUS[wanted]]);
      }
    }
  });

  test.each([
    "tidegate:4566",
    "TIDEGATE",
    "bucket.tidegate:4566",
    "10.0.0.7:80",
    "[::ffff:7f00:1]",
  ])("answers to Host %s, which was allowed", async (host) => {
    const allowedHosts = ["tidegate", "10.0.0.7", "[::ffff:7f00:1]"];
    expect(await statusOf({ host }, { loopback: true, allowedHosts })).toBe(200);
  });

  test.each(["nottidegate", "1.10.0.0.7", "a@b", "", ":80", "::1", "[::1", "127.0.0.1:80:80"])(
    "refuses Host %j",
    async (host) => {
      expect(
        await statusOf({ host }, { loopback: true, allowedHosts: ["tidegate", "10.0.0.7"] }),
      ).toBe(403);
    },
  );

  test.each(["", "any", "Basic dTpw", "Bearer AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential="])(
    "does not take the Authorization header %j for a signature (G2)",
    async (authorization) => {
      expect(await statusOf({ host: "sqs.us-east-1.amazonaws.com", authorization })).toBe(403);
    },
  );

  test("checks the signature of every request to a name of AWS (G2)", async () => {
    const handler = guardHosts(async () => ({ status: 200, headers: [], body: "" }), LOOPBACK);
    const ask = async (headers: object) => (await handler({ headers } as never)).status;
    const host = "sqs.us-east-1.amazonaws.com";
    expect([await ask({ host, authorization: SIGNATURE }), await ask({ host })]).toEqual([
      200, 403,
    ]);
  });

  test("refuses a foreign name after it has answered to a local one", async () => {
    const handler = guardHosts(async () => ({ status: 200, headers: [], body: "" }), LOOPBACK);
    const ask = async (host: string) =>
      (await handler({ method: "GET", path: "/", query: "", headers: { host } } as never)).status;
    expect([await ask("localhost"), await ask("evil.test"), await ask("localhost")]).toEqual([
      200, 403, 200,
    ]);
  });

  test("names the flag that allows the name", async () => {
    const handler = guardHosts(async () => ({ status: 200, headers: [], body: "" }), LOOPBACK);
    const ask = async (host: string) => (await handler({ headers: { host } } as never)).body;
    expect(await ask("cloud:4566")).toContain(
      'Host \\"cloud\\" is not a local name; allow it with --allow-host cloud"',
    );
    expect(await ask("[::ffff:7f00:1]:80")).toContain("--allow-host [::ffff:7f00:1]");
    expect(await ask("s3.amazonaws.com")).toContain("--allow-host s3.amazonaws.com");
    expect(await ask("a@b")).toContain("is not a host name");
  });
});

test("a server bound to all addresses answers to every name", async () => {
  expect(await statusOf({ host: "evil.test" }, { ...LOOPBACK, loopback: false })).toBe(200);
});

describe("a request of a web page (G3)", () => {
  test.each([true, false])("passes from the same origin (loopback: %s)", async (loopback) => {
    const headers = { host: "localhost:4566", origin: "http://localhost:4566" };
    expect(await statusOf(headers, { ...LOOPBACK, loopback })).toBe(200);
  });

  test.each([
    "http://localhost:3000",
    "https://evil.test",
    "null",
    "file://",
    "http://localhost:4566.evil.test",
  ])("is refused from the origin %s", async (origin) => {
    expect(await statusOf({ host: "localhost:4566", origin })).toBe(403);
  });
});

test("a request without a Host header passes (G4)", async () => {
  expect(await statusOf({})).toBe(200);
});
