import { expect, test } from "vitest";
import { SQS_VISIBILITY_MS_MAX } from "../../src/core/limits.ts";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { hours, seconds } from "../../src/core/units.ts";
import { grantedDelayMs, retryDelayMs } from "../../src/ingest/policy/retry.ts";
import { DEFAULTS, TIMEOUT_MS_MAX } from "../../src/ingest/spec/define-pipeline.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";
import { claimOne, failOne, fenceIn, onEveryLedger } from "../support/traps/ledgers.ts";

const ALMOST_ONE = 1 - 2 ** -53;

onEveryLedger("T26: a retry waits in the queue, by the count of the ledger", (fresh) => {
  test("the backoff after each attempt follows the attempt that the ledger counted", async () => {
    const world = fresh();
    const bounds: number[] = [];
    for (let n = 1; n <= DEFAULTS.attempts; n += 1) {
      const fence = fenceIn(await claimOne(world, "a"));
      // Receives by others in the meantime are not attempts and do not extend the backoff.
      await claimOne(world, "a", { owner: "other" });
      const failed = await failOne(world, "a", fence);
      if (failed?.kind !== "failed") throw new Error(`it is ${failed?.kind}`);
      bounds.push(retryDelayMs(DEFAULTS, failed.attempts, ALMOST_ONE) + 1);
    }
    expect(bounds).toEqual([1, 2, 4, 8, 16, 32, 64].map(seconds));
  });
});

test("T26: records that failed together are not retried together", () => {
  const random = createSeededRandom("t26");
  const waits = Array.from({ length: 1_000 }, () => retryDelayMs(DEFAULTS, 5, random.fraction()));
  const quarters = [0, 1, 2, 3].map(
    (quarter) => waits.filter((wait) => Math.floor(wait / 4_000) === quarter).length,
  );
  expect(Math.min(...quarters)).toBeGreaterThan(150);
});

test("T26: a backoff is a visibility timeout that SQS accepts, even after the longest handler", () => {
  for (const heldMs of [seconds(1), hours(6), TIMEOUT_MS_MAX, SQS_VISIBILITY_MS_MAX]) {
    const asked = retryDelayMs({ baseMs: hours(11), capMs: hours(11) }, 1, ALMOST_ONE);
    const granted = grantedDelayMs(asked, heldMs);
    expect(granted + heldMs).toBeLessThanOrEqual(SQS_VISIBILITY_MS_MAX);
  }
});

test("T26: a consumer holds nothing while a record waits, and processes others in the meantime", async () => {
  const done: string[] = [];
  await using world = await createConsumerWorld({
    pipeline: { concurrency: 1, retry: { attempts: 2, baseMs: 60_000, capMs: 60_000 } },
    handler: ({ envelope }, { attempt }) => {
      if (envelope.dedupe_key === "bad" && attempt === 1) throw new Error("not now");
      done.push(envelope.dedupe_key);
    },
  });
  await world.send("bad");
  const consumer = world.consumer();
  await consumer.start();
  await world.settle();
  await world.cloud.clock.advance(100);
  expect(consumer.snapshot()).toMatchObject({ retried: 1, inFlight: 0, waiting: 0 });
  await world.send("good");
  await world.pass(61_000);
  expect(done.toSorted()).toEqual(["bad", "good"]);
});
