// Replays of a pipeline in an embedded cloud of this process, on SQLite.

import { expect, test } from "vitest";
import { endPause, setPause } from "../../../src/ingest/running/pause.ts";
import { outputLocations } from "../../../src/lineage/recorded/output-locations.ts";
import { factsOfObject, factsOfOutput } from "../../../src/operate/lineage/recorded-facts.ts";
import { findRowOrigin } from "../../../src/operate/lineage/row-lineage.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { ordersPipeline, startReplayWorld } from "../../support/replay-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("replay");

test("a replay fills a shadow, shows the differences, and is promoted as a whole", async () => {
  await using world = await startReplayWorld(folder, "promote");
  await world.put("in/a.csv", { a1: 1, a2: 2 });
  await world.put("in/b.csv", { b1: 3 });
  expect(world.rows()).toEqual(["a1=2", "a2=4", "b1=6"]);

  await using replays = await world.replays(ordersPipeline(1));
  const request = world.request();
  const status = await replays.start(request);
  expect(status).toMatchObject({ state: "ready", outcome: { how: "complete", committed: 2 } });
  expect(world.rows()).toEqual(["a1=2", "a2=4", "b1=6"]);
  const { run } = status.entry;
  const [difference] = await replays.diff(run, 2);
  expect(difference).toMatchObject({
    table: "orders",
    added: 0,
    removed: 0,
    changed: 3,
    keptObjects: 0,
    samples: [
      { kind: "changed", key: { id: "a1" }, live: { amount: 2 }, replayed: { amount: 1 } },
      { kind: "changed", key: { id: "a2" } },
    ],
  });

  await world.put("in/a.csv", { a1: 10 }); // A live write meanwhile.
  expect((await replays.diff(run, 0))[0]).toMatchObject({ changed: 1, keptObjects: 1 });
  expect(await replays.promote(run)).toEqual({ appliedObjects: 1, keptObjects: 1, messages: 0 });
  expect(world.rows()).toEqual(["a1=20", "b1=3"]);
  await expect(replays.promote(run)).rejects.toThrow(/was promoted before/);

  expect((await replays.start(request)).state).toBe("promoted");
  expect((await replays.list()).map(({ entry }) => entry.run)).toEqual([run]);
  await replays.drop(run);
  expect(await replays.list()).toEqual([]);
  await world.put("in/b.csv", { b1: 5 });
  expect(world.rows()).toEqual(["a1=20", "b1=10"]);
});

test("a pause holds a replay into the live tables, and not one into a shadow", async () => {
  await using world = await startReplayWorld(folder, "paused");
  await world.put("in/a.csv", { a1: 1 });
  const ledger = await openLedger(world.ledger, systemPorts, {});
  const scope = { pipeline: "orders", generation: 0 };
  await setPause(ledger, scope, { since: systemPorts.clock.now(), by: "ops", reason: "" });
  await using replays = await world.replays(ordersPipeline(1));
  expect((await replays.start(world.request())).state).toBe("ready");

  const waits = Promise.withResolvers<void>();
  const heard: (string | null)[] = [];
  const replaying = replays.start(world.request({ into: "live" }), {
    onPause(pause) {
      heard.push(pause?.by ?? null);
      waits.resolve();
    },
  });
  await waits.promise;
  expect(world.rows()).toEqual(["a1=2"]);
  await endPause(ledger, scope);
  expect(await replaying).toMatchObject({ state: "complete", outcome: { committed: 1 } });
  expect(heard).toEqual(["ops", null]);
  expect(world.rows()).toEqual(["a1=1"]);
  await ledger.close();
});

test("lineage names a replay as a writer of a table only once it is promoted", async () => {
  await using world = await startReplayWorld(folder, "lineage");
  await world.put("in/a.csv", { a1: 1 });
  await using replays = await world.replays(ordersPipeline(1));
  const ledger = await openLedger(world.ledger, systemPorts, {});
  const locationOf = outputLocations(null, world.ledger);
  const object = { bucket: "orders", key: "in/a.csv" };
  /** The generations that wrote the table, which are those that wrote for its object. */
  const writers = async () => {
    const scopes = await ledger.stats();
    const ofTable = scopes.map((scope) => factsOfOutput(ledger, scope, "orders", locationOf));
    const ofObject = scopes.map((scope) => factsOfObject(ledger, scope, object, locationOf));
    const [table, same] = await Promise.all([Promise.all(ofTable), Promise.all(ofObject)]);
    expect(same.flat().map(({ run }) => run.id)).toEqual(table.flat().map(({ run }) => run.id));
    return table.flat().map(({ run }) => run.generation);
  };
  /** The generation that wrote the visible row. */
  const rowWriter = async () => {
    const row = await findRowOrigin(ledger, await ledger.stats(), "orders", ["a1"]);
    return row.kind === "found" ? row.origin?.scope.generation : row.kind;
  };

  const first = await replays.start(world.request());
  expect([first.state, first.entry.generation]).toEqual(["ready", 1]);
  expect(await writers()).toEqual([0]);
  await replays.drop(first.entry.run);
  expect(await writers()).toEqual([0]);
  expect(await rowWriter()).toBe(0);

  const { entry } = await replays.start(world.request());
  await replays.promote(entry.run);
  const all = [0, entry.generation];
  expect(await writers()).toEqual(all);
  expect(await rowWriter()).toBe(entry.generation);
  const histories = await openOperator({ ledger }).history.find("s3://orders/in/a.csv");
  expect(histories.map(({ location }) => location)).toEqual(["live", "shadow", "promoted"]);
  // A process that dies after the promotion leaves no note; the shadow has the state.
  await ledger.removeNotes({ pipeline: "orders", generation: entry.generation }, "replay", [
    "promoted",
  ]);
  expect(await writers()).toEqual(all);
  await replays.drop(entry.run);
  expect(await writers()).toEqual(all);

  const live = await replays.start(world.request({ into: "live" }));
  expect(await writers()).toEqual([...all, live.entry.generation]);
  expect(await rowWriter()).toBe(live.entry.generation);
  await world.put("in/a.csv", { a1: 7 });
  expect(await rowWriter()).toBe(0);
  await ledger.close();
});
