import fc from "fast-check";
import { expect, test } from "vitest";
import { collect } from "../../../test/support/byte-sources.ts";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { inTime, listIn, SCOPE } from "../../../test/support/dead-letter-world.ts";
import { deadLetterJson, deadLetterLines, dossierLines } from "../../cli/print/dead-letter-text.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import { matchesFilter } from "../policy/dead-letter-filter.ts";
import { tooManyFailAgain } from "../policy/redrive-stop.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import { entryOf } from "./dead-letter-access.ts";
import { dropDeadLetters } from "./drop-dead-letters.ts";

type World = Awaited<ReturnType<typeof createConsumerWorld>>;

function drop(world: World, filter = {}, dryRun = false) {
  const { cloud, ledger, queue, deadLetters } = world;
  const ports = { clock: cloud.clock, ledger, deadLetters, source: world.queue };
  const options = { scope: SCOPE, source: queue.name, filter, dryRun };
  return inTime(world, collect(dropDeadLetters(ports, options)));
}

const handler = ({ envelope }: { envelope: { dedupe_key: string } }) => {
  throw new PermanentError("no", { class: envelope.dedupe_key === "k0" ? "schema" : "governance" });
};

test("a drop deletes message and dossier of the matching dead letters only", async () => {
  await using world = await createConsumerWorld({ handler });
  for (const key of ["k0", "k1", "k2"]) await world.send(key);
  await world.consumer().start();
  await world.pass(3_000);
  expect(await drop(world, { errorClass: "schema" }, true)).toMatchObject([{ kind: "planned" }]);
  expect(await world.depth(world.deadLetters)).toBe(3);
  expect(await drop(world, { errorClass: "schema" })).toMatchObject([{ kind: "dropped" }]);
  const remaining = await listIn(world, {}, "peek");
  expect(remaining.map(({ errorClass, copies }) => [errorClass, copies])).toEqual([
    ["governance", 1],
    ["governance", 1],
  ]);
  // A copy of a dropped message is acknowledged and not run.
  await world.send("k0");
  await world.pass(3_000);
  expect(await world.depth()).toBe(0);
  expect(await world.depth(world.deadLetters)).toBe(2);
});

test("dropping a halted record lets its group continue within seconds", async () => {
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    queue: "work.fifo",
    handler: ({ envelope }) => {
      handled.push(envelope.dedupe_key);
      if (envelope.dedupe_key === "k0") throw new PermanentError("no");
    },
  });
  for (const key of ["k0", "k1"]) await world.send(key, {}, "g");
  await world.consumer().start();
  await world.pass(5_000);
  expect(handled).toEqual(["k0"]);
  expect(await drop(world)).toMatchObject([{ kind: "dropped", messageDeleted: false }]);
  await world.pass(3_000);
  expect(handled).toEqual(["k0", "k1"]);
  expect(await world.depth()).toBe(0);
});

test("masked values are in no dossier, no Tidegate attribute and no printed line", async () => {
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^[A-Za-z0-9 "\\äß-]{6,20}$/), async (text) => {
      const secret = `<${text}>`;
      await using world = await createConsumerWorld({
        pipeline: { mask: ["payload.person.**"] },
        handler: () => {
          throw new PermanentError(`no space for ${secret} in ${JSON.stringify({ secret })}`);
        },
      });
      await world.send("k", { person: { name: secret, also: [secret] }, open: "seen" });
      await world.consumer().start();
      await world.pass(3_000);
      const [letter] = await listIn(world, {}, "peek");
      if (letter?.dossier == null) throw new Error("dossier missing");
      const [delivery] = await world.deadLetters.receive(
        { max: 1, waitMs: durationMs(0), visibilityMs: durationMs(0) },
        new AbortController().signal,
      );
      const printed = [
        ...deadLetterLines(entryOf(letter)),
        deadLetterJson(entryOf(letter)),
        ...dossierLines(letter.dossier, letter.state),
        ...Object.values(delivery?.attributes ?? {}),
        JSON.stringify(world.logs),
      ].join("\n");
      expect(printed).toContain("seen");
      for (const spelling of [secret, JSON.stringify(secret).slice(1, -1)]) {
        expect(printed).not.toContain(spelling);
      }
      expect(delivery?.body).toContain(JSON.stringify(secret).slice(1, -1));
    }),
    { numRuns: 15 },
  );
});

test("a filter matches class, fingerprint, key, object and age, and all must match", () => {
  const facts = {
    pipeline: "stations",
    errorClass: "schema",
    fingerprint: "62f1724f64232b6b",
    keys: ["k1:0123456789abcdef"],
    objects: ["s3://inbox/2026/a.csv"],
    failedAt: epochMs(1_000_000),
  };
  const now = epochMs(1_060_000);
  const yes = [
    {},
    { errorClass: "schema", fingerprint: "62f1" },
    { key: "k1:01234567" },
    { key: "2026/a" },
    { olderThanMs: durationMs(59_999), newerThanMs: durationMs(60_000) },
  ];
  const no = [
    { errorClass: "schema", fingerprint: "62f" },
    { errorClass: "network" },
    { key: "k1:0123" },
    { key: "" },
    { key: "2026/a", errorClass: "network" },
    { olderThanMs: durationMs(60_000) },
    { newerThanMs: durationMs(59_999) },
  ];
  expect(yes.map((filter) => matchesFilter(facts, filter, now))).toEqual(yes.map(() => true));
  expect(no.map((filter) => matchesFilter(facts, filter, now))).toEqual(no.map(() => false));
});

test("a redrive stops above the share, but not below the minimum count", () => {
  const rule = { failuresMin: 5, failedShareMax: 0.5 };
  expect(tooManyFailAgain({ committed: 0, failedAgain: 4 }, rule)).toBe(false);
  expect(tooManyFailAgain({ committed: 5, failedAgain: 5 }, rule)).toBe(false);
  expect(tooManyFailAgain({ committed: 4, failedAgain: 5 }, rule)).toBe(true);
});
