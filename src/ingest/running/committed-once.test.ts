// Records that were committed when a redrive or a drop looked them up, and are dead-lettered again
// before it handles them: a restored object reopens a committed record (B2).

import { expect, test } from "vitest";
import { collect } from "../../../test/support/byte-sources.ts";
import { type ConsumerWorld, createConsumerWorld } from "../../../test/support/consumer-world.ts";
import {
  inTime,
  listIn,
  redrivePorts,
  runRedrive,
  SCOPE,
} from "../../../test/support/dead-letter-world.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { dropDeadLetters } from "../dead-letters/drop-dead-letters.ts";
import { PermanentError } from "../spec/handler-errors.ts";

async function parkedWorld() {
  const broken = { yes: true };
  const handler = () => {
    if (broken.yes) throw new PermanentError("no", { class: "schema" });
  };
  const world = await createConsumerWorld({ handler });
  await world.send("a");
  await world.consumer().start();
  await world.pass(2_000);
  return { world, broken };
}

/** Reports each record as committed on the first lookup, as was true then. */
function onceCommitted(ledger: Ledger): Ledger {
  const lookedUp = new Set<string>();
  return Object.assign(Object.create(ledger) as Ledger, {
    reopen: ledger.reopen.bind(ledger),
    findNote: ledger.findNote.bind(ledger),
    listNotes: ledger.listNotes.bind(ledger),
    removeNotes: ledger.removeNotes.bind(ledger),
    show: async (...[scope, key]: Parameters<Ledger["show"]>) => {
      const view = await ledger.show(scope, key);
      if (view === undefined || lookedUp.has(key)) return view;
      lookedUp.add(key);
      return { ...view, record: { ...view.record, kind: "committed" } };
    },
  });
}

/** Hides the dead letters in the queue, so that only the ledger has them. */
async function hideDeadLetters(world: ConsumerWorld): Promise<void> {
  const request = { max: 10, waitMs: 0 as never, visibilityMs: 3_600_000 as never };
  expect(await world.deadLetters.receive(request, new AbortController().signal)).toHaveLength(1);
}

test("a redrive sends its dead letter back, and removes neither dead letter nor dossier", async () => {
  const { world, broken } = await parkedWorld();
  await using _ = world;
  broken.yes = false;
  const ports = { ...redrivePorts(world), ledger: onceCommitted(world.ledger) };
  const { summary } = await runRedrive(world, {}, ports);
  expect(summary).toMatchObject({ sent: 1, committed: 1, committedBefore: 0 });
});

test("a redrive keeps its dossier", async () => {
  const { world } = await parkedWorld();
  await using _ = world;
  await hideDeadLetters(world);
  await runRedrive(world, {}, { ...redrivePorts(world), ledger: onceCommitted(world.ledger) });
  expect(await listIn(world)).toMatchObject([{ state: "parked", errorClass: "schema" }]);
});

test("a drop keeps its dossier", async () => {
  const { world } = await parkedWorld();
  await using _ = world;
  await hideDeadLetters(world);
  const { cloud, deadLetters } = world;
  const source = world.queue;
  const ports = { clock: cloud.clock, deadLetters, source, ledger: onceCommitted(world.ledger) };
  await inTime(world, collect(dropDeadLetters(ports, { scope: SCOPE, source: "work" })));
  expect(await listIn(world)).toMatchObject([{ state: "parked", errorClass: "schema" }]);
});

test("a redrive removes the dead letter and the dossier of a committed record", async () => {
  const { world, broken } = await parkedWorld();
  await using _ = world;
  const [parked] = await listIn(world);
  broken.yes = false;
  if (parked !== undefined) await world.ledger.reopen(SCOPE, [parked.key]);
  await world.send("a");
  await world.pass(3_000);
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ sent: 0, committedBefore: 1 });
  expect(await world.depth(world.deadLetters)).toBe(0);
  const page = { after: null, limit: 10 };
  expect(await world.ledger.listNotes(SCOPE, "dossier", page)).toEqual([]);
});
