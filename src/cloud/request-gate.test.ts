import { expect, test } from "vitest";
import type { HttpReply, HttpRequest } from "../ports/http.ts";
import { createGate } from "./request-gate.ts";

const REQUEST = { path: "/" } as HttpRequest;
const REPLY: HttpReply = { status: 200, headers: [], body: "" };

test("a request that comes too early waits until the gate is open, and is answered then", async () => {
  const seen: HttpRequest[] = [];
  const gate = createGate(async (request) => {
    seen.push(request);
    return REPLY;
  });
  const early = gate.handler(REQUEST);
  await Promise.resolve();
  expect(seen).toEqual([]);
  gate.open();
  expect(await early).toBe(REPLY);
  expect(await gate.handler(REQUEST)).toBe(REPLY);
  expect(seen).toEqual([REQUEST, REQUEST]);
});
