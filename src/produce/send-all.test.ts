import { expect, test } from "vitest";
import { createProducerWorld, event } from "../../test/support/producer-world.ts";
import { perEntity } from "./group-strategy.ts";
import { createProducer } from "./producer.ts";
import { sendAll } from "./send-all.ts";

test("a stream is read only as far as there is capacity, and results are in order", async () => {
  await using world = await createProducerWorld();
  const producer = createProducer(world.ports, { groups: perEntity((e) => e.dedupeKey) });
  let asked = 0;
  let answered = 0;
  let ahead = 0;
  function* events() {
    for (; asked < 50; asked += 1) {
      ahead = Math.max(ahead, asked - answered);
      yield asked === 7 ? event("k3", { payload: { other: true } }) : event(`k${asked}`);
    }
  }
  const kinds: string[] = [];
  for await (const result of sendAll(producer, events(), { openMax: 8 })) {
    answered += 1;
    kinds.push(result.kind);
  }
  expect(ahead).toBeLessThanOrEqual(8);
  expect(kinds).toEqual(kinds.map((_, n) => (n === 7 ? "failed" : "sent")));
  expect(kinds).toHaveLength(50);
  expect(await world.messages()).toHaveLength(49);
});
