// tidegate audit: compares bucket, ledger and sink, and writes a statement.
//   A1. The exit code is 0 only if the window is complete. Something missing, orphaned or doubled,
//       or something that cannot be judged, is 1. If all is accounted for, and something is not
//       applied, it is 4.
//   A2. A repair ingests what is missing and audits the window again.

import { closeSync, openSync, writeSync } from "node:fs";
import { counted } from "../../../core/encoding/counted.ts";
import type { AuditLine, Statement } from "../../../operate/audits.ts";
import { boundHeap, boundThreadHeaps } from "../../../platform/bound-heap.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_NOT_APPLIED,
  EXIT_OK,
  type ExitCode,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "../../command.ts";
import { bucketFlags } from "../../flags/bucket-flags.ts";
import { sourceOptions } from "../../flags/location-flags.ts";
import { timeFlag } from "../../flags/time-flag.ts";
import { stopSignal } from "../../stop-signals.ts";

const EXITS = {
  complete: EXIT_OK,
  accounted: EXIT_NOT_APPLIED,
  incomplete: EXIT_FAILED,
  undecided: EXIT_FAILED,
} as const satisfies Record<Statement["verdict"], ExitCode>;
const GRACE_SECONDS_MAX = 1_209_600;
const SECOND_MS = 1_000;

export const auditCommand = command({
  name: "audit",
  summary: "Compare bucket, ledger and sink: what is missing, orphaned or applied twice?",
  argument: { name: "FILE", doc: "Pipeline file; its default export is pipeline({ ... })." },
  flags: {
    from: timeFlag("Only objects last modified at this time or later."),
    to: timeFlag("Only objects last modified before this time (default: now)."),
    grace: wholeNumber(
      "SECONDS",
      { min: 0, max: GRACE_SECONDS_MAX },
      null,
      "How long the event of an object may take to arrive (default: 900).",
    ),
    "since-statement": text(
      "FILE",
      null,
      "Statement of an earlier window, which this audit continues.",
    ),
    "since-key": text(
      "PUB",
      null,
      "Ed25519 public key (PEM file) of the earlier statement (default: that of --sign).",
    ),
    suffix: text("TEXT", null, "Only keys that end with this text must have taken effect."),
    out: text("FILE", null, "Write the statement to this file."),
    lines: text("FILE", null, "Write one JSON line per object version to this file."),
    sign: text("KEY", null, "Sign the statement with this Ed25519 private key (PEM file)."),
    rows: toggle("Read the tables, and compare their rows with what was committed."),
    repair: toggle("Ingest what is missing, then audit again."),
    json: toggle("Print the statement as JSON."),
    ...bucketFlags,
  },
  async run({ argument: file = "", flags, out }) {
    const [{ Sources }, operate, words] = await Promise.all([
      import("../../../operate/sources.ts"),
      import("../../../operate/audits.ts"),
      import("../../print/audit-text.ts"),
    ]);
    const key = flags.sign === undefined ? null : operate.readSigningKey(flags.sign);
    const earlier = flags["since-statement"];
    const publicKey = flags["since-key"];
    if (publicKey !== undefined && earlier === undefined) {
      throw new UsageError("--since-key needs --since-statement");
    }
    boundHeap();
    boundThreadHeaps();
    const stopping = new AbortController();
    void stopSignal().then(() => stopping.abort(new Error("stopped")));
    const { signal } = stopping;
    await using sources = new Sources(sourceOptions({ ...flags, pipeline: file }));
    const audits = operate.auditsOf(sources);
    const { pipeline } = await sources.scope();
    const { from, to, bucket, prefix, suffix, rows, grace } = flags;
    const keys = { publicKey, signingKey: key };
    const part = { from, to, bucket, prefix, suffix, rows };
    const request = {
      ...part,
      graceMs: grace === undefined ? undefined : grace * SECOND_MS,
      previous: earlier === undefined ? undefined : operate.readEarlierStatement(earlier, keys),
      signal,
    };
    const runOnce = () =>
      withLines(flags.lines, operate.lineText, async (write) => {
        const run = audits.run(request);
        for await (const step of run) {
          if (step.kind === "warning") out.note(step.message);
          else write(step.lines);
          const isShown = step.kind === "lines" && out.terminal && !flags.json;
          if (isShown) out.note(words.auditProgress(step));
        }
        return run.result();
      });
    let statement = await runOnce();
    if (flags.repair && statement.counts.missing > 0) {
      const { waitLine } = await import("../../print/pipeline-text.ts");
      const repair = audits.repair(statement, { signal });
      for await (const step of repair) {
        if (step.kind === "waiting") out.note(waitLine(pipeline, step.pause));
      }
      const { done } = await repair.result();
      out.note(`Ingested ${done} of ${statement.counts.missing} missing objects; auditing again.`);
      statement = await runOnce(); // A2
    }
    if (key !== null) statement = operate.signStatement(statement, key);
    if (flags.out !== undefined) operate.writeStatement(flags.out, statement);
    if (flags.json) out.line(JSON.stringify(statement));
    else for (const line of words.auditLines(statement)) out.line(line);
    return EXITS[statement.verdict]; // A1
  },
});

async function withLines<T>(
  path: string | undefined,
  textOf: (line: AuditLine) => string,
  run: (write: (lines: readonly AuditLine[]) => void) => Promise<T>,
): Promise<T> {
  if (path === undefined) return run(() => undefined);
  const open = () => {
    try {
      return openSync(path, "w");
    } catch (error) {
      throw new UsageError(`cannot write --lines ${path}: ${(error as Error).message}`);
    }
  };
  const descriptor = open();
  try {
    return await run((lines) => void writeSync(descriptor, lines.map(textOf).join("")));
  } finally {
    closeSync(descriptor);
  }
}

export const auditVerify = command({
  name: "audit verify",
  summary: "Check that a statement and its lines were not edited, and who signed it.",
  argument: { name: "STATEMENT", doc: "File that tidegate audit --out wrote." },
  flags: {
    key: text("PUB", null, "Ed25519 public key (PEM file) that must have signed the statement."),
    lines: text("FILE", null, "File that tidegate audit --lines wrote with the statement."),
  },
  async run({ argument: path = "", flags, out }) {
    const { checkStatement } = await import("../../../operate/audits.ts");
    const { key: publicKey, lines } = flags;
    const { statement, lines: checked } = await checkStatement(path, { publicKey, lines });
    const { subject, window, verdict, signature, previous } = statement;
    const by =
      publicKey !== undefined
        ? `signed with ${publicKey}`
        : signature === null
          ? "not signed"
          : "signed; check the signature with --key";
    const times = `${window.from ?? "the first object"} to ${window.to}`;
    out.line(`${path}: unchanged, ${by}`);
    if (checked !== null) {
      const { carried } = checked;
      const rest = carried === 0 ? "" : `; not checked: ${counted(carried, "carried segment")}`;
      out.line(`${lines}: the ${counted(checked.lines, "line")} of the statement${rest}`);
    }
    out.line(
      `Pipeline ${subject.pipeline}, s3://${subject.bucket}/${subject.prefix}, ${times}: ${verdict}`,
    );
    if (previous !== null) {
      const signer =
        previous.keyId === null ? "is not signed" : `was signed with the key ${previous.keyId}`;
      out.line(`It continues a statement up to ${previous.to}, which ${signer}`);
    }
    return EXIT_OK;
  },
});
