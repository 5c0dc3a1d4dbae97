import { expect, test } from "vitest";
import { EngineBench, engineTurns, watch } from "../../../test/support/broker/engine-bench.ts";
import { entry } from "../../../test/support/broker/model-bench.ts";
import type { ReplySpace } from "../../ports/http/reply-space.ts";

function createSpace() {
  const space = { isFull: true, onSpace: () => {} };
  const free = () => {
    space.isFull = false;
    space.onSpace();
  };
  return { space: space as ReplySpace, free };
}

test("while replies are not read, receives wait and all other requests continue (W10)", async () => {
  const { space, free } = createSpace();
  const bench = await EngineBench.open({ replySpace: space });
  await bench.create("q");
  await bench.send("q", entry("a"));
  const receive = bench.receive("q");
  const received = watch(receive);
  await bench.send("q", entry("b"));
  await engineTurns();
  expect(received.state).toBe("pending");
  free();
  expect((await receive).map(({ body }) => body)).toEqual(["a", "b"]);
});

test("a long poll gets nothing while replies are not read, and its messages after that", async () => {
  const { space, free } = createSpace();
  const bench = await EngineBench.open({ replySpace: space });
  await bench.create("q");
  (space as { isFull: boolean }).isFull = false;
  const poll = bench.poll("q", 20_000);
  const polled = watch(poll);
  await engineTurns();
  (space as { isFull: boolean }).isFull = true;
  await bench.send("q", entry("a"));
  await engineTurns();
  expect(polled.state).toBe("pending");
  free();
  expect(await poll).toEqual(["a"]);
});

test("a receive that waits for space is answered when the broker closes", async () => {
  const { space } = createSpace();
  const bench = await EngineBench.open({ replySpace: space });
  await bench.create("q");
  const receive = bench.receive("q");
  await engineTurns();
  await bench.broker.close();
  expect(await receive).toEqual([]);
});

test("a batch with much text ends early, and the rest is in the next commits (W10)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const before = bench.store.commits.length;
  const body = "x".repeat(1_024 * 1_024);
  await Promise.all(Array.from({ length: 20 }, () => bench.send("q", entry(body))));
  const puts = bench.store.commits
    .slice(before)
    .map((changes) => changes.filter(({ kind }) => kind === "put-message").length);
  expect(puts).toEqual([8, 8, 4]);
});
