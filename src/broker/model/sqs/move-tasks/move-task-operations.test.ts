import { expect, test } from "vitest";
import { arn, entry, ModelBench } from "../../../../../test/support/broker/model-bench.ts";
import { runMoveTasks } from "./move-task.ts";

function createBench(): ModelBench {
  const bench = new ModelBench();
  for (const name of ["dead", "other", "x.fifo"]) bench.create(name);
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn("dead"), maxReceiveCount: 1 });
  bench.create("q", { RedrivePolicy });
  bench.send("dead", entry("a"), entry("b"));
  return bench;
}

function input(sourceArn: string, more: object = {}) {
  return { sourceArn, destinationArn: arn("other"), perSecondMax: null, ...more };
}

test("a source that is missing or is not a dead-letter queue is refused", () => {
  const bench = createBench();
  expect(bench.fault("startMoveTask", input(arn("none")))).toEqual({
    name: "ResourceNotFound",
    message: "The resource that you specified for the SourceArn parameter doesn't exist.",
  });
  expect(bench.fault("startMoveTask", input(arn("other")))).toEqual({
    name: "InvalidParameterValue",
    message: "Source queue must be configured as a Dead Letter Queue.",
  });
  expect(bench.fault("listMoveTasks", { sourceArn: arn("none"), limit: 1 }).name).toBe(
    "ResourceNotFound",
  );
});

test("a destination that is missing or of another type, or a rate out of range, is refused", () => {
  const bench = createBench();
  const fault = (more: object) => bench.fault("startMoveTask", input(arn("dead"), more)).name;
  expect(fault({ destinationArn: arn("none") })).toBe("ResourceNotFound");
  expect(fault({ destinationArn: arn("x.fifo") })).toBe("InvalidParameterValue");
  for (const perSecondMax of [0, -1, 501]) {
    expect(fault({ perSecondMax })).toBe("InvalidParameterValue");
  }
  bench.ok("startMoveTask", input(arn("dead"), { perSecondMax: 500 }));
});

test("one task at a time for a source; when it has ended another may start (T1)", () => {
  const bench = createBench();
  bench.ok("startMoveTask", input(arn("dead")));
  expect(bench.fault("startMoveTask", input(arn("dead")))).toEqual({
    name: "InvalidParameterValue",
    message:
      "There is already a task running. Only one active task is allowed for a source queue " +
      "arn at a given time.",
  });
  runMoveTasks(bench.state, bench.step);
  bench.ok("startMoveTask", input(arn("dead")));
});

test("tasks are listed newest first, and ten of a source are remembered", () => {
  const bench = createBench();
  const handles = Array.from({ length: 13 }, () => {
    const { handle } = bench.ok("startMoveTask", input(arn("dead")));
    bench.pass(1_000);
    runMoveTasks(bench.state, bench.step);
    return handle;
  });
  const list = (limit: number) =>
    bench.ok("listMoveTasks", { sourceArn: arn("dead"), limit }).tasks.map(({ handle }) => handle);
  expect(list(1)).toEqual(handles.slice(-1));
  expect(list(10)).toEqual(handles.slice(3).reverse());
  expect(bench.state.moveTasks.size).toBe(10);
});

test("a handle is readable JSON in base64, and names its task", () => {
  const bench = createBench();
  const { handle } = bench.ok("startMoveTask", input(arn("dead")));
  expect(JSON.parse(Buffer.from(handle, "base64").toString())).toEqual({
    taskId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    sourceArn: arn("dead"),
  });
});

test("a cancelled task says how many it moved and moves no more", () => {
  const bench = createBench();
  const { handle } = bench.ok("startMoveTask", input(arn("dead"), { perSecondMax: 1 }));
  runMoveTasks(bench.state, bench.step);
  expect(bench.ok("cancelMoveTask", { handle })).toEqual({ moved: 1 });
  bench.pass(5_000);
  runMoveTasks(bench.state, bench.step);
  const { tasks } = bench.ok("listMoveTasks", { sourceArn: arn("dead"), limit: 1 });
  expect(tasks).toMatchObject([{ status: "CANCELLED", moved: 1 }]);
  expect(bench.counts("dead")).toEqual([1, 0, 0]);
  expect(bench.fault("cancelMoveTask", { handle }).name).toBe("InvalidParameterValue");
});

test("garbage is not a handle, and an unknown task is refused", () => {
  const bench = createBench();
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");
  const garbage = ["garbage", "", encode(null), encode("x"), encode({ taskId: 1, sourceArn: "x" })];
  for (const handle of garbage) {
    expect(bench.fault("cancelMoveTask", { handle })).toEqual({
      name: "InvalidParameterValue",
      message: "Value for parameter TaskHandle is invalid.",
    });
  }
  const handle = encode({ taskId: "unknown", sourceArn: arn("dead") });
  expect(bench.fault("cancelMoveTask", { handle })).toEqual({
    name: "ResourceNotFound",
    message: "Task does not exist.",
  });
  const elsewhere = encode({ taskId: "unknown", sourceArn: arn("none") });
  expect(bench.fault("cancelMoveTask", { handle: elsewhere }).name).toBe("ResourceNotFound");
});

test("a handle that names another queue than that of its task cancels nothing", () => {
  const bench = createBench();
  const { handle } = bench.ok("startMoveTask", input(arn("dead")));
  const task = JSON.parse(Buffer.from(handle, "base64").toString()) as object;
  const forged = JSON.stringify({ ...task, sourceArn: arn("other") });
  const order = { handle: Buffer.from(forged).toString("base64") };
  expect(bench.fault("cancelMoveTask", order)).toEqual({
    name: "ResourceNotFound",
    message: "Task does not exist.",
  });
  bench.ok("cancelMoveTask", { handle });
});
