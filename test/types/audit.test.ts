// Types of audits in `tidegate/operate`. The compiler checks them (`npm run types`).

import { pipeline } from "tidegate";
import {
  type AuditLine,
  type AuditRequest,
  type AuditStatus,
  openOperator,
  type Progress,
  type Statement,
  signStatement,
} from "tidegate/operate";
import { expectTypeOf, test } from "vitest";

const files = pipeline({ name: "files", source: { bucket: "files" }, handler: () => {} });

test("an audit takes a window, reports lines, and returns a statement", () => {
  const { audits } = openOperator({ pipeline: files });
  expectTypeOf(audits.run).returns.toExtend<Progress<unknown, Statement>>();
  const request: AuditRequest = { from: 0, prefix: "in/", suffix: ".csv" };
  type Step = ReturnType<typeof audits.run> extends Progress<infer S, Statement> ? S : never;
  type Lines = Extract<Step, { kind: "lines" }>["lines"];
  expectTypeOf<Lines>().toEqualTypeOf<readonly AuditLine[]>();
  expectTypeOf(audits.run).toBeCallableWith(request);
  expectTypeOf<Statement["verdict"]>().toEqualTypeOf<
    "complete" | "accounted" | "incomplete" | "undecided"
  >();
  expectTypeOf<Statement["counts"]>().toExtend<Readonly<Record<AuditStatus, number>>>();
  expectTypeOf(signStatement).returns.toEqualTypeOf<Statement>();
});

test("an unknown option of an audit is a type error", () => {
  // @ts-expect-error The option is called graceMs.
  const request: AuditRequest = { grace: 5 };
  void request;
});
