// Compares the broker with the reference over random schedules with restarts and crashes.
// TIDEGATE_MODEL_RUNS sets the number of runs, TIDEGATE_MODEL_SEED the seed.

import { expect, test } from "vitest";
import { createBroker } from "../../src/broker/engine/create-broker.ts";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import type { BrokerStore } from "../../src/ports/broker/broker-store.ts";
import { createMemoryBrokerStore } from "../../src/stores/memory/broker-store.ts";
import { microtaskTurn } from "../support/broker/manual-time.ts";
import { patienceMs } from "../support/patience.ts";
import { findDisagreement } from "./harness/campaign.ts";
import type { Subject } from "./harness/subject.ts";

const RUNS = Number(process.env.TIDEGATE_MODEL_RUNS ?? 300);
const SEED = Number(process.env.TIDEGATE_MODEL_SEED ?? Date.now() % 1_000_000_000);
const TIME_LIMIT_MS = patienceMs(600_000);

/** The broker on a memory store that survives its crashes. */
function createBrokerSubject(): Subject {
  const disk = createMemoryBrokerStore();
  const random = createSeededRandom(SEED);
  let power = { on: true };
  let lives = 0;
  return {
    async open(clock) {
      const cable = { on: true };
      power = cable;
      lives += 1;
      const store: BrokerStore = {
        load: () => disk.load(),
        objects: disk.objects,
        read: (seq) => disk.read(seq),
        commit: (changes) => (cable.on ? disk.commit(changes) : new Promise(() => {})),
        close: async () => {},
      };
      return createBroker(
        { store, clock, random: random.fork(`life ${lives}`), turn: microtaskTurn },
        { account: "000000000000", region: "us-east-1" },
      );
    },
    cutPower() {
      power.on = false;
    },
  };
}

test(
  `the broker agrees with the reference in ${RUNS} random schedules (seed ${SEED})`,
  async () => {
    const report = await findDisagreement(createBrokerSubject, {
      runs: RUNS,
      commandsMax: 60,
      seed: SEED,
      shrinks: true,
    });
    if (report !== null) console.error(report);
    expect(report).toBeNull();
  },
  TIME_LIMIT_MS,
);
