import { expect, test } from "vitest";
import {
  type ConsumerWorld,
  type ConsumerWorldOptions,
  createConsumerWorld,
} from "../../../test/support/consumer-world.ts";
import { inTime, listIn, runRedrive, SCOPE } from "../../../test/support/dead-letter-world.ts";
import { buildEnvelope } from "../../core/events/envelope.ts";
import { addMs, durationMs, minutes } from "../../core/units.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { GovernanceError, PermanentError } from "../spec/handler-errors.ts";
import { decodeDossier } from "./dossier.ts";

const SECRET = "passport-4711";

/** A ledger that remembers the text of everything it was asked to store. */
function spiedLedger(ledger: Ledger, written: string[]): Ledger {
  return new Proxy(ledger, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        written.push(`${String(name)} ${JSON.stringify(args)}`);
        return (member as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

interface GovernedWorld extends AsyncDisposable {
  readonly world: ConsumerWorld;
  readonly written: readonly string[];
  readonly handled: unknown[];
  readonly rule: { refuses: boolean };
  /** All text outside the source queue: ledger, logs and dead letters. */
  everything(): Promise<string>;
}

async function governedWorld(options: ConsumerWorldOptions = {}): Promise<GovernedWorld> {
  const written: string[] = [];
  const handled: unknown[] = [];
  const rule = { refuses: true };
  const world = await createConsumerWorld({
    handler: (event) => void handled.push(event.payload ?? event),
    ledger: (cloud) => spiedLedger(createMemoryLedger({ clock: cloud.clock }), written),
    ...options,
    pipeline: {
      govern: (event: unknown) =>
        rule.refuses && JSON.stringify(event).includes(SECRET) ? "refuse" : "allow",
      ...(options.pipeline as object),
    } as never,
  });
  await world.consumer().start();
  return {
    world,
    written,
    handled,
    rule,
    async everything() {
      const letters = JSON.stringify(await deadLettersOf(world));
      return `${written.join("\n")}\n${JSON.stringify(world.logs)}\n${letters}`;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

function deadLettersOf(world: ConsumerWorld) {
  const request = { max: 10, waitMs: durationMs(0), visibilityMs: durationMs(0) };
  return inTime(world, world.deadLetters.receive(request, new AbortController().signal));
}

async function dossierIn({ world }: GovernedWorld) {
  const [listed] = await listIn(world);
  const note = await world.ledger.findNote(SCOPE, "dossier", listed?.key ?? "");
  return note === undefined ? null : decodeDossier(note.body);
}

test.each<[string, ConsumerWorldOptions]>([
  ["an envelope", {}],
  ["an own message", { pipeline: { source: { queue: "work", key: () => "k" } } as never }],
  [
    "an envelope whose handler throws a GovernanceError that quotes it",
    {
      pipeline: { govern: () => "allow" } as never,
      handler: () => {
        throw new GovernanceError(`found ${SECRET} in it`);
      },
    },
  ],
  [
    "an envelope whose eventTime fails before governance is asked",
    {
      pipeline: {
        eventTime: {
          of: () => {
            throw new PermanentError("no time");
          },
        },
      } as never,
    },
  ],
])("no store, log or dead letter contains the refused value of %s", async (_, options) => {
  await using governed = await governedWorld(options);
  const { world, handled } = governed;
  await world.send("k", { note: SECRET });
  await world.pass(3_000);
  expect(handled).toEqual([]);
  expect(await dossierIn(governed)).toMatchObject({
    error_class: "governance",
    payload: null,
    withheld: true,
    attempts: 1,
  });
  expect(await world.depth()).toBe(0);
  expect(await deadLettersOf(world)).toHaveLength(1);
  expect(await governed.everything()).not.toContain(SECRET);
});

test("the refused message of a FIFO group goes to the dead-letter queue without its group", async () => {
  await using governed = await governedWorld({
    queue: "work.fifo",
    pipeline: { onPoison: "skip" } as never,
  });
  await governed.world.send("k", { note: SECRET }, `group-of-${SECRET}`);
  await governed.world.pass(3_000);
  const [letter] = await deadLettersOf(governed.world);
  expect(letter?.body).toContain("tidegate_withheld");
  expect(JSON.stringify(letter)).not.toContain(SECRET);
});

test("a redriven refusal fails again with its class, under its own key", async () => {
  await using governed = await governedWorld();
  const { world, rule } = governed;
  await world.send("k", { note: SECRET });
  await world.pass(3_000);
  const [before] = await listIn(world);
  rule.refuses = false;
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ sent: 1, committed: 0, failedAgain: 1 });
  const [after, ...more] = await listIn(world);
  expect(more).toEqual([]);
  expect(after).toMatchObject({ key: before?.key, errorClass: "governance" });
  expect((await dossierIn(governed))?.message).toContain("send the message again");
  expect(await governed.everything()).not.toContain(SECRET);
});

test("a message that is sent again after a refusal is judged again and committed once", async () => {
  await using governed = await governedWorld();
  const { world, rule, handled } = governed;
  await world.send("k", { note: SECRET });
  await world.pass(3_000);
  rule.refuses = false;
  await world.send("k", { note: SECRET });
  await world.send("k", { note: SECRET });
  await world.pass(120_000);
  expect(handled).toEqual([{ note: SECRET }]);
  expect(await world.depth()).toBe(0);
});

test("a refused object keeps the reference to its version, and its redrive reads it again", async () => {
  const rows: unknown[] = [];
  await using governed = await governedWorld({
    bucket: "files",
    handler: (async (file: { rows(): AsyncIterable<unknown> }) => {
      for await (const row of file.rows()) rows.push(row);
    }) as never,
    pipeline: {
      govern: (_: unknown, row?: unknown): string =>
        governed.rule.refuses && JSON.stringify(row ?? null).includes(SECRET) ? "refuse" : "allow",
    } as never,
  });
  const { world } = governed;
  await world.put("a.csv", `note\n${SECRET}\n`);
  await world.pass(3_000);
  expect(await dossierIn(governed)).toMatchObject({
    error_class: "governance",
    message: "GovernanceError: govern refused line 2",
    object: { bucket: "files", key: "a.csv" },
  });
  expect(await governed.everything()).not.toContain(SECRET);
  governed.rule.refuses = false;
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ committed: 1 });
  expect(rows).toEqual([{ note: SECRET }]);
});

test("a message that is too late is judged before the ledger holds it", async () => {
  await using governed = await governedWorld({
    pipeline: {
      eventTime: { outOfOrderMs: 0, allowedLatenessMs: minutes(5), late: "hold" },
    } as never,
  });
  const { world } = governed;
  await world.send("now");
  await world.pass(3_000);
  const eventTime = addMs(world.cloud.clock.now(), minutes(-60));
  const input = { source: "test.unit.world", dedupeKey: "old", eventTime };
  const built = buildEnvelope({ ...input, payload: { note: SECRET } });
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  await world.sendBody(built.value.body);
  await world.pass(3_000);
  expect(await dossierIn(governed)).toMatchObject({ error_class: "governance" });
  expect(await governed.everything()).not.toContain(SECRET);
});
