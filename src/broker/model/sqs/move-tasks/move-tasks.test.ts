import { expect, test } from "vitest";
import { epochMs } from "../../../../core/units.ts";
import { type MoveTask, MoveTasks } from "./move-tasks.ts";

function taskOf(id: string, sourceArn: string, status: MoveTask["status"] = "RUNNING"): MoveTask {
  const times = { startedAt: epochMs(1), nextAt: epochMs(1) };
  const rest = { destinationArn: null, perSecondMax: null, failureReason: null };
  return { id, order: 1, sourceArn, status, toMove: 1, moved: 0, ...times, ...rest };
}

test("tasks are found by id and by source, newest first", () => {
  const tasks = new MoveTasks();
  for (const [id, source] of ["1a", "2b", "3a"].map((text) => [...text] as [string, string])) {
    tasks.put(taskOf(id, source));
  }
  tasks.put(taskOf("1", "a", "COMPLETED"));
  expect(tasks.ofSource("a").map(({ id }) => id)).toEqual(["3", "1"]);
  expect(tasks.ofSource("none")).toEqual([]);
  expect(tasks.get("1")?.status).toBe("COMPLETED");
});

test("only unfinished tasks are active, and no deleted ones (M1)", () => {
  const tasks = new MoveTasks();
  for (const status of ["RUNNING", "CANCELLING", "CANCELLED", "FAILED", "COMPLETED"] as const) {
    tasks.put(taskOf(status, "a", status));
  }
  expect(tasks.active().map(({ id }) => id)).toEqual(["RUNNING", "CANCELLING"]);
  tasks.put(taskOf("RUNNING", "a", "COMPLETED"));
  tasks.delete(taskOf("CANCELLING", "a"));
  expect([tasks.active(), tasks.size]).toEqual([[], 4]);
});
