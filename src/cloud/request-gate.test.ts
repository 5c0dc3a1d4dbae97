import { expect, test } from "vitest";
import type { HttpReply, HttpRequest } from "../ports/http/http.ts";
import { createGate } from "./request-gate.ts";

const REQUEST = { path: "/" } as HttpRequest;
const REPLY: HttpReply = { status: 200, headers: [], body: "" };

test("a request waits until the gate is open and is then answered", async () => {
  const requests: HttpRequest[] = [];
  const gate = createGate(async (request) => {
    requests.push(request);
    return REPLY;
  });
  const early = gate.handler(REQUEST);
  await Promise.resolve();
  expect(requests).toEqual([]);
  gate.open();
  expect(await early).toBe(REPLY);
  expect(await gate.handler(REQUEST)).toBe(REPLY);
  expect(requests).toEqual([REQUEST, REQUEST]);
});
