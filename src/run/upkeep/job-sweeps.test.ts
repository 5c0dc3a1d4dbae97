import { expect, test } from "vitest";
import { createProducerWorld, event } from "../../../test/support/producer-world.ts";
import { hours, minutes } from "../../core/units.ts";
import { perEntity } from "../../produce/group-strategy.ts";
import { createProducer } from "../../produce/producer.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { startJobSweeps } from "./job-sweeps.ts";

test("a stuck job is republished by the schedule, once an outbox exists, and failures are logged", async () => {
  const world = await createProducerWorld();
  await using _ = world;
  const { clock } = world.cloud;
  const ledger = createMemoryLedger({ clock });
  const producer = createProducer(world.ports, { groups: perEntity((each) => each.dedupeKey) });
  await producer.send(event("a"));
  const logs: string[] = [];
  let outboxIs: "none" | "broken" | "there" = "none";
  const sweeps = startJobSweeps(
    {
      ...world.ports,
      ledger,
      telemetry: { log: (level, text) => void logs.push(`${level} ${text}`) },
      async findOutbox() {
        if (outboxIs === "broken") throw new Error("disk is gone");
        return outboxIs === "there" ? world.outbox : null;
      },
    },
    { scope: { pipeline: "p", generation: 0 }, everyMs: minutes(5), stuckAfterMs: hours(1) },
  );
  const pass = async (ms: number) => {
    for (let remaining = ms; remaining > 0; remaining -= minutes(5))
      await clock.advance(minutes(5));
  };
  await pass(hours(1));
  outboxIs = "broken";
  await pass(minutes(5));
  outboxIs = "there";
  expect(await world.messages()).toHaveLength(1);
  await pass(minutes(20));
  expect((await world.messages()).map(({ body }) => body.dedupe_key)).toEqual(["a", "a"]);
  expect(logs).toEqual([
    "warn sweep failed, retrying in the next round: disk is gone",
    "info sweep sent jobs",
  ]);
  await sweeps.close();
  await expect(world.outbox.stats("q")).rejects.toMatchObject({ code: "TG_CLOSED" });
});
