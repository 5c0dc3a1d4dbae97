// The wire under fuzzing: for any request, the reply is well-formed and the broker keeps running.

import { afterEach, beforeEach, expect, test } from "vitest";
import { createBroker } from "../../src/broker/engine/create-broker.ts";
import { createBrokerHttp } from "../../src/broker/http.ts";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { createMemoryBrokerStore } from "../../src/stores/memory/broker-store.ts";
import { ManualTime, microtaskTurn } from "../support/broker/manual-time.ts";
import { patienceMs } from "../support/patience.ts";
import { fuzzWire, type Rig } from "./fuzz-campaign.ts";

const COUNT = Number(process.env.TIDEGATE_FUZZ ?? (process.env.CI ? 100_000 : 5_000));
const SEED = Number(process.env.TIDEGATE_FUZZ_SEED ?? 1);
const TIME_LIMIT_MS = patienceMs(600_000);

const rejections: unknown[] = [];
const noteRejection = (reason: unknown) => rejections.push(reason);

beforeEach(() => {
  rejections.length = 0;
  process.on("unhandledRejection", noteRejection);
});

afterEach(() => {
  process.off("unhandledRejection", noteRejection);
});

async function createRig(errors: unknown[]): Promise<Rig> {
  const time = new ManualTime();
  const broker = await createBroker(
    {
      store: createMemoryBrokerStore(),
      clock: time.view(),
      random: createSeededRandom(SEED),
      turn: microtaskTurn,
    },
    { account: "000000000000", region: "us-east-1" },
  );
  const http = createBrokerHttp(broker, { onError: (error) => errors.push(error) });
  return { broker, http, time };
}

test(
  `${COUNT} mutated requests (seed ${SEED}) get well-formed replies, and refused ones change nothing`,
  async () => {
    const errors: unknown[] = [];
    const rig = await createRig(errors);
    const tally = await fuzzWire(rig, SEED, COUNT);
    console.log(`fuzz: seed ${SEED}, replies by status`, Object.fromEntries(tally));
    expect(errors).toEqual([]);
    expect(rejections).toEqual([]);
    expect([...tally.values()].reduce((sum, n) => sum + n, 0)).toBe(COUNT);
    expect(tally.get(200) ?? 0).toBeGreaterThan(COUNT / 50);
    expect(tally.get(400) ?? 0).toBeGreaterThan(COUNT / 50);
    await rig.broker.close();
  },
  TIME_LIMIT_MS,
);
