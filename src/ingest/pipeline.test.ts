import { expect, test } from "vitest";
import {
  createStageWorld,
  memoryObjects,
  OWNER,
  RUN_ID,
  type StageWorldOptions,
} from "../../test/support/stage-world.ts";
import { eventOf } from "../backfill/listed-event.ts";
import { epochMs } from "../core/units.ts";
import type { LaneDecision } from "../ports/record.ts";
import { runDelivery, type Stages } from "./pipeline.ts";
import { createParts } from "./running/consumer-parts.ts";
import type { InFlightDelivery } from "./running/in-flight-delivery.ts";
import { CONSUMER_METRICS } from "./telemetry/metrics.ts";

const LATE: LaneDecision = { lane: "late", watermark: epochMs(1) };
const TOO_LATE: LaneDecision = { lane: "too-late", watermark: epochMs(1) };

/** The same port, which adds a note to `happened` before some of its calls. */
function noting<Port extends object>(
  port: Port,
  happened: string[],
  notes: Readonly<Record<string, string>>,
): Port {
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...call: unknown[]) => {
        const note = notes[String(name)];
        if (note !== undefined) happened.push(note);
        return value.apply(target, call);
      };
    },
  });
}

/** The stages of a pipeline, and a list of what happened in which order. */
function pipelineWorld(options: StageWorldOptions & { readonly lane?: LaneDecision } = {}) {
  const happened: string[] = [];
  const handler = () => void happened.push("handle");
  const world = createStageWorld({
    ...options,
    spec: { handler, lease: "ledger", ...options.spec },
    wrapLedger: (ledger) => noting(ledger, happened, { commit: "commit", fail: "fail" }),
  });
  const renewer = noting(world.renewer, happened, { detach: "renewal stopped" });
  const counts = new Map<string, number>();
  const count = (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const objects = memoryObjects({ "a.csv": "id\n1\n" });
  const ports = { ...world, renewer, objects, rows: null, sink: null };
  const { lane } = options;
  const { stages } = createParts(
    { ...ports, telemetry: { ...world.telemetry, count } },
    {
      pipeline: world.pipeline,
      owner: OWNER,
      runId: RUN_ID,
      ...(lane !== undefined && { laneOf: () => lane }),
    },
    () => undefined,
  );
  return { world, stages, happened, counts };
}

/** Runs the only record of a delivery; rejects with what leaves the page. */
async function run(stages: Stages, inFlight: InFlightDelivery): Promise<void> {
  const runs: Promise<unknown>[] = [];
  const add: Parameters<typeof runDelivery>[1]["add"] = (_, work) => void runs.push(work.run());
  const pool = { running: 0, waiting: 0, add, skipWaiting: () => undefined };
  void runDelivery(stages, pool, inFlight);
  await Promise.all(runs);
}

/** The same stages with other steps. */
function withSteps(stages: Stages, steps: Partial<Stages["steps"]>): Stages {
  return { ...stages, steps: { ...stages.steps, ...steps } };
}

test("renewal of a claim stops before its commit (P5)", async () => {
  const { world, stages, happened } = pipelineWorld();
  await using _ = world;
  await run(stages, world.message("a").inFlight);
  expect(happened.slice(0, 3)).toEqual(["handle", "renewal stopped", "commit"]);
});

test("a commit under a claim that may be renewed is refused (P5)", async () => {
  const { world, stages, happened } = pipelineWorld();
  await using _ = world;
  const broken = withSteps(stages, { stopRenewal: () => "next" });
  await expect(run(broken, world.message("a").inFlight)).rejects.toThrow("P5");
  expect(happened).not.toContain("commit");
});

test("a failure under a claim that may be renewed is not stored (P5)", async () => {
  const { world, stages, happened } = pipelineWorld();
  await using _ = world;
  const handle: Stages["steps"]["handle"] = ({ claim }) => ({ kind: "stopped", claim });
  const broken = withSteps(stages, { handle, stopRenewal: () => "next" });
  await expect(run(broken, world.message("a").inFlight)).rejects.toThrow("P5");
  expect(happened).not.toContain("fail");
});

test("a record that is too late is not held before it is governed (P7)", async () => {
  const { world, stages, happened } = pipelineWorld({
    lane: TOO_LATE,
    spec: { eventTime: { late: "hold" } },
  });
  await using _ = world;
  const broken = withSteps(stages, { govern: () => "next" });
  await expect(run(broken, world.message("a").inFlight)).rejects.toThrow("P7");
  expect(happened).not.toContain("fail");
});

const LISTED = { etag: "e", size: 5, versionId: null, lastModified: 1_000, key: "a.csv" };

test("a record is not handled before the bucket has confirmed its order (P6)", async () => {
  const { world, stages, happened } = pipelineWorld({ bucket: "in" });
  await using _ = world;
  const { inFlight } = world.deliver(JSON.stringify(eventOf("in", LISTED as never)));
  const broken = withSteps(stages, { confirm: () => "next" });
  await expect(run(broken, inFlight)).rejects.toThrow("P6");
  expect(happened).not.toContain("handle");
});

test("an error of a step does not leave the page: the record is returned (P3)", async () => {
  const { world, stages, happened } = pipelineWorld();
  await using _ = world;
  const prepare = () => Promise.reject(new Error("no disk"));
  const outcomes: string[] = [];
  const onOutcome: Stages["onOutcome"] = (_record, { kind }) => void outcomes.push(kind);
  await run({ ...withSteps(stages, { prepare }), onOutcome }, world.message("a").inFlight);
  expect(outcomes).toEqual(["later"]);
  expect(happened).not.toContain("commit");
});

test("a late record whose order the bucket confirms counts as late once", async () => {
  const { world, stages, counts } = pipelineWorld({ bucket: "in", lane: LATE });
  await using _ = world;
  await run(stages, world.deliver(JSON.stringify(eventOf("in", LISTED as never))).inFlight);
  expect(counts.get(CONSUMER_METRICS.late.name)).toBe(1);
});
