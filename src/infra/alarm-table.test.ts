import { expect, test } from "vitest";
import { ALARM_TABLE, alarmsOf } from "./alarm-table.ts";

test("no alarm is always on or always off (A1)", () => {
  for (const alarm of ALARM_TABLE) {
    if (alarm.kind === "anomaly") {
      expect([alarm.name, alarm.operator]).toEqual([alarm.name, "LessThanLowerThreshold"]);
      expect(alarm.deviations).toBeGreaterThan(0);
      continue;
    }
    // Every metric is a count or an age and never below zero.
    const canBeOff = alarm.operator === "GreaterThanThreshold" || alarm.threshold > 0;
    expect([alarm.name, canBeOff]).toEqual([alarm.name, true]);
    expect([alarm.name, alarm.operator]).not.toEqual([alarm.name, "LessThanLowerThreshold"]);
  }
});

test("any dead letter raises an alarm, within a minute", () => {
  const alarm = ALARM_TABLE.find(({ name }) => name === "dead-letters");
  expect(alarm).toMatchObject({
    on: "dead-letter-queue",
    metric: "ApproximateNumberOfMessagesVisible",
    operator: "GreaterThanThreshold",
    threshold: 0,
    periodSeconds: 60,
    periods: 1,
  });
});

test("names are unique, and only a pipeline with a topic has alarms on it", () => {
  const names = ALARM_TABLE.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(alarmsOf({ topic: null }).some(({ on }) => on === "topic")).toBe(false);
  expect(alarmsOf({ topic: "t" })).toEqual(ALARM_TABLE);
});
