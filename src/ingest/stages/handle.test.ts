import { expect, test } from "vitest";
import {
  createStageWorld,
  type Delivered,
  memoryObjects,
  RUN_ID,
  type StageWorld,
  type StageWorldOptions,
  turns,
} from "../../../test/support/stage-world.ts";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import { withoutSecrets } from "../../core/encoding/secrets.ts";
import { LeaseLost, Stopping } from "../running/in-flight-delivery.ts";
import { tables } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { HandlerContext, ObjectInput } from "../spec/pipeline-spec.ts";
import { DeadlinePassed } from "./attempt.ts";
import type { Claim } from "./claim.ts";
import { EFFECTS_MAX } from "./effects/effect-buffer.ts";
import { createHandleStage, type Handled } from "./handle.ts";

type Handler = (event: never, context: HandlerContext) => unknown;

function withHandler(handler: Handler, more: object = {}): StageWorldOptions {
  return { spec: { handler, ...more } };
}

async function handle(
  world: StageWorld,
  { record, inFlight }: Delivered,
  objects: Parameters<typeof memoryObjects>[0] = {},
): Promise<Handled> {
  const ports = { ...world, objects: memoryObjects(objects), rows: null };
  const stage = createHandleStage(ports, { pipeline: world.pipeline, runId: RUN_ID });
  const claim: Claim = {
    kind: "claimed",
    fence: null,
    attempt: 1,
    startedAt: world.clock.now(),
    input: ANY_INPUT,
  };
  return stage.handle(record, claim, { lane: "live", watermark: null }, inFlight);
}

function errorOf(handled: Handled): unknown {
  if (handled.kind !== "failed") throw new Error(`the outcome is ${handled.kind}`);
  return handled.error;
}

test("effects keep their order and the fields that they had when requested (H2, H5)", async () => {
  await using world = createStageWorld(
    withHandler((_event, { upsert, emit }) => {
      const row = { id: 1 };
      upsert("t" as never, row as never);
      row.id = 2;
      upsert("t" as never, row as never);
      emit({ id: 3 });
    }),
  );
  expect(await handle(world, world.message("a"))).toMatchObject({
    kind: "handled",
    effects: [
      { kind: "upsert", table: "t", row: { id: 1 } },
      { kind: "upsert", table: "t", row: { id: 2 } },
      { kind: "custom", value: { id: 3 } },
    ],
  });
});

test("the context's time is the recorded event time, and its random values follow the key", async () => {
  const draws: unknown[] = [];
  await using world = createStageWorld(
    withHandler(
      (_event, { now, random, uuid, parameters, models, lookups }) => {
        draws.push([now(), random(), random(), uuid(), uuid(), parameters, models, lookups]);
      },
      {
        frozen: {
          parameters: { vat: 0.25 },
          models: { speech: "v3" },
          lookups: { rates: { eur: [1] } },
        },
      },
    ),
  );
  for (const key of ["a", "a", "b"]) {
    await handle(world, world.message(key));
    world.clock.advance(1_000);
  }
  const [one, again, other] = draws as [unknown[], unknown[], unknown[]];
  expect(again).toEqual(one);
  expect(one[0]).toBe(ANY_INPUT.eventTime);
  expect(one.slice(5)).toEqual([{ vat: 0.25 }, { speech: "v3" }, { rates: { eur: [1] } }]);
  expect(new Set([...one.slice(1, 5), ...other.slice(1, 5)]).size).toBe(8);
});

test("a handler that outlives timeoutMs fails, and its later effects are rejected (H1)", async () => {
  let context: HandlerContext | undefined;
  const never = new Promise(() => {});
  await using world = createStageWorld(
    withHandler(
      (_event, given) => {
        context = given;
        return never;
      },
      { timeoutMs: 5_000 },
    ),
  );
  const handling = handle(world, world.message("a"));
  await world.pass(4_000);
  expect(context?.signal.aborted).toBe(false);
  await world.pass(2_000);
  expect(errorOf(await handling)).toBeInstanceOf(DeadlinePassed);
  expect(context?.signal.aborted).toBe(true);
  expect(() => context?.emit(1)).toThrow(PermanentError);
});

test("any thrown value is an outcome, with the masked values that it may quote (H3)", async () => {
  await using world = createStageWorld(
    withHandler(
      () => {
        throw "not even an error";
      },
      { mask: ["payload.name"] },
    ),
  );
  const handled = await handle(world, world.message("a", { name: "Ada" }));
  expect(handled).toMatchObject({ kind: "failed", by: "handler", error: "not even an error" });
  const { secrets } = handled as Extract<Handled, { kind: "failed" }>;
  expect(withoutSecrets("Ada and Bob", secrets)).toBe("*** and Bob");
});

test.each([
  ["lost", new LeaseLost("gone")],
  ["stopped", new Stopping("the consumer is stopping")],
] as const)("an abort of the delivery ends the attempt as %s (H1)", async (kind, reason) => {
  const never = new Promise(() => {});
  await using world = createStageWorld(withHandler(() => never));
  const delivered = world.message("a");
  const handling = handle(world, delivered);
  await turns();
  delivered.inFlight.abort(reason);
  expect((await handling).kind).toBe(kind);
});

const readText = (event: ObjectInput<unknown>) => event.text();

test.each<["dead-letter" | "drop" | "retry", string, object]>([
  ["drop", "dropped", {}],
  ["dead-letter", "failed", { error: { errorClass: "missing-object" } }],
  ["retry", "failed", { error: { name: "ObjectGone" } }],
])("a missing object with onMissing %s is %s", async (onMissing, kind, more) => {
  await using world = createStageWorld({
    bucket: "in",
    ...withHandler(readText as never, { onMissing }),
  });
  expect(await handle(world, world.object("gone.csv"))).toMatchObject({ kind, ...more });
});

test("an object that may not be read is never dropped: it may exist", async () => {
  await using world = createStageWorld({
    bucket: "in",
    ...withHandler(readText as never, { onMissing: "drop" }),
  });
  const objects = { "a.csv": { kind: "forbidden", reason: "access denied" } } as const;
  const error = errorOf(await handle(world, world.object("a.csv"), objects));
  expect(error).toMatchObject({ name: "PermanentError", errorClass: "permission" });
});

test("a handler that ends without awaiting its read fails (N1 of open-reads.ts)", async () => {
  await using world = createStageWorld({
    bucket: "in",
    ...withHandler(((event: ObjectInput<unknown>) => void event.text()) as never),
  });
  const error = errorOf(await handle(world, world.object("a.csv"), { "a.csv": "x" }));
  expect(error).toMatchObject({ errorClass: "unawaited" });
});

const SINK = tables({ t: { columns: { id: "text" }, key: ["id"] } });

test.each([
  ["handle", { onRemoved: "handle" }, 1],
  ["handle, with a table sink", { onRemoved: "handle", sink: SINK }, 1],
  ["delete-rows", { onRemoved: "delete-rows", sink: SINK }, 0],
])(
  "with onRemoved %s, a removed object runs the handler only to be handled (H4)",
  async (_, spec, runs) => {
    const kinds: string[] = [];
    const handler = ((event: ObjectInput<unknown>) => void kinds.push(event.kind)) as never;
    await using world = createStageWorld({ bucket: "in", ...withHandler(handler, spec) });
    const removed = await handle(world, world.object("a.csv", { removed: true }));
    expect(removed).toMatchObject({ kind: "handled", effects: [] });
    expect(kinds).toEqual(Array.from({ length: runs }, () => "removed"));
    await handle(world, world.object("a.csv"));
    expect(kinds.at(-1)).toBe("created");
  },
);

test("a record that cannot be decoded fails permanently, without a call of the handler", async () => {
  let calls = 0;
  await using world = createStageWorld(
    withHandler(() => {
      calls += 1;
    }),
  );
  const error = errorOf(await handle(world, world.deliver("not json")));
  expect(error).toMatchObject({ name: "PermanentError", errorClass: "undecodable" });
  expect(calls).toBe(0);
});

test("a record has at most EFFECTS_MAX effects", async () => {
  await using world = createStageWorld(
    withHandler((_event, { emit }) => {
      for (let at = 0; at <= EFFECTS_MAX; at += 1) emit(at);
    }),
  );
  const error = errorOf(await handle(world, world.message("a")));
  expect(error).toMatchObject({ errorClass: "too-many-effects" });
});
