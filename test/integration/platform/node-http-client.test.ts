import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { durationMs } from "../../../src/core/units.ts";
import { createHttpClient } from "../../../src/platform/http/node-http-client.ts";

let close: (() => void) | null = null;
afterEach(() => close?.());

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = () => {
    server.closeAllConnections();
    server.close();
  };
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const never = new AbortController().signal;

function post(url: string, timeoutMs = 10_000, signal = never): Promise<number> {
  const headers = { "content-type": "text/plain", "x-own": "1" };
  return createHttpClient().post(
    { url, headers, body: "zwölf", timeoutMs: durationMs(timeoutMs) },
    signal,
  );
}

test("body, headers and credentials are sent, and any status is returned", async () => {
  const requests: unknown[] = [];
  const url = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { "x-own": own, authorization, "content-length": length } = request.headers;
      requests.push([request.method, own, authorization, length, Buffer.concat(chunks).toString()]);
      response.writeHead(503).end();
    });
  });
  expect(await post(url.replace("//", "//me:p%40ss@"))).toBe(503);
  const basic = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;
  expect(requests).toEqual([["POST", "1", basic, "6", "zwölf"]]);
});

test("a redirect is returned and not followed", async () => {
  let requests = 0;
  const url = await serve((_, response) => {
    requests += 1;
    response.writeHead(302, { location: "/elsewhere" }).end();
  });
  expect(await post(url)).toBe(302);
  expect(requests).toBe(1);
});

test("an endless response is cut off, and its status is returned", async () => {
  const url = await serve((_, response) => {
    response.writeHead(200);
    const pour = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384)));
    };
    response.on("drain", pour).on("error", () => {});
    pour();
  });
  expect(await post(url)).toBe(200);
});

test("a request to an endpoint that does not answer in time fails", async () => {
  const url = await serve(() => {});
  await expect(post(url, 30)).rejects.toMatchObject({ cause: { name: "TimeoutError" } });
});

test("a request to an endpoint that answers too slowly fails", async () => {
  const url = await serve((_, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write("x"), 5);
    response.on("close", () => clearInterval(drip));
  });
  await expect(post(url, 60)).rejects.toThrow();
});

test("an aborted request rejects immediately", async () => {
  const stop = new AbortController();
  const url = await serve(() => stop.abort(new Error("stopping")));
  await expect(post(url, 10_000, stop.signal)).rejects.toThrow();
});

test("a refused connection is an error, not a status", async () => {
  const url = await serve(() => {});
  close?.();
  await expect(post(url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});
