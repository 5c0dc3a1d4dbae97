import { expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import { createMessageMask } from "./message-mask.ts";
import { maskAudit } from "./page-masks.ts";

const AUDIT = {
  id: "a1",
  startedAt: epochMs(2),
  endedAt: epochMs(3),
  bucket: "people",
  prefix: "ann-smith/",
  from: null,
  to: epochMs(1),
  verdict: "incomplete",
  counts: {} as never,
  digest: "d1",
  exceptions: [{ key: "ann-smith/1.csv", versionId: null, status: "missing", reason: "" }],
  quarantined: { sets: 0, rows: 0 },
  sinkChecked: true,
} as const;

test("masks that hide the keys of objects hide them in the exceptions of an audit (P1)", () => {
  const masked = maskAudit(AUDIT, createMessageMask({ mask: ["object.key"] } as never));
  expect(JSON.stringify(masked)).not.toContain("ann");
  expect(masked.exceptions).toMatchObject([{ key: "***", status: "missing" }]);
  expect(maskAudit(AUDIT, createMessageMask(null))).toEqual(AUDIT);
});
