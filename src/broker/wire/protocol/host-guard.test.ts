import { describe, expect, test } from "vitest";
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

describe("a server bound to loopback (G1)", () => {
  test.each([
    "localhost:4566",
    "LOCALHOST",
    "127.0.0.1:4566",
    "[::1]:4566",
    "10.0.0.7:80",
    "bucket.localhost:4566",
    "bucket.s3.localhost:4566",
    "bucket.s3.eu-west-1.amazonaws.com",
    "tidegate:4566",
    "bucket.tidegate:4566",
  ])("answers to Host %s", async (host) => {
    expect(await statusOf({ host })).toBe(200);
  });

  test.each(["evil.test:4566", "localhost.evil.test", "127.0.0.1.evil.test", "nottidegate", "a@b"])(
    "refuses Host %s",
    async (host) => {
      expect(await statusOf({ host })).toBe(403);
    },
  );

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
    const reply = await handler({ headers: { host: "cloud:4566" } } as never);
    expect(reply.body).toContain("--allow-host cloud");
  });
});

test("a server bound to all addresses answers to every name", async () => {
  expect(await statusOf({ host: "evil.test" }, { ...LOOPBACK, loopback: false })).toBe(200);
});

describe("a request of a web page (G2)", () => {
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

test("a request without a Host header passes (G3)", async () => {
  expect(await statusOf({})).toBe(200);
});
