// Audit: the statement of one audit in short: window, verdict, counts, exceptions and digest.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { amountText, countText, durationText, timeText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useScopedPath } from "../../data/session.ts";
import { useLoad } from "../../data/use-load.ts";
import { CommandLine } from "../../parts/code.tsx";
import { Facts, type Figure, Figures, Heading, Panel } from "../../parts/layout.tsx";
import { Empty, LoadError, Waiting } from "../../parts/notices.tsx";
import { type RowColumn, Rows } from "../../parts/rows.tsx";
import { auditWindow, VerdictBadge } from "./audits.tsx";

type Audit = ApiSchema["Audit"];
type Status = keyof Audit["counts"];
type Exception = Audit["exceptions"][number];

/** What each status says, with the worst first. */
const STATUSES: readonly (readonly [Status, string])[] = [
  ["missing", "never ingested, or without a trace in the sink"],
  ["double", "two committed effects"],
  ["orphan", "rows without a commit, or of a removed object"],
  ["unknown", "cannot be judged"],
  ["committed", "exactly one committed effect"],
  ["superseded", "replaced by a newer version"],
  ["dead-lettered", "in the dead-letter queue"],
  ["held", "too late, and held"],
  ["in-flight", "in progress, or waiting for a retry"],
  ["waiting", "in the queue, or too new"],
  ["ignored", "deleted before it was ingested, or left out by the source's filter"],
  ["gone", "committed, and no longer in the bucket"],
];
/** Statuses of which the statement lists the object versions. */
const LISTED: readonly Status[] = [
  "missing",
  "double",
  "orphan",
  "unknown",
  "dead-lettered",
  "held",
  "in-flight",
  "waiting",
];
const BAD: ReadonlySet<Status> = new Set(["missing", "double", "orphan"]);

export function AuditScreen({ id }: { readonly id: string }) {
  const loaded = useLoad<Audit>(useScopedPath(`/audits/${encodeURIComponent(id)}`));
  const { data } = loaded;
  return (
    <>
      <Heading
        title={data === null ? "Audit" : `Audit of ${timeText(data.startedAt)}`}
        crumbs={[
          { text: "Time", href: linkTo(["time"]) },
          { text: "Audits", href: linkTo(["audits"]) },
        ]}
      >
        {data !== null && <VerdictBadge verdict={data.verdict} />}
      </Heading>
      <LoadError loaded={loaded} what="Audit" />
      {data === null && loaded.error === null && <Waiting rows={10} />}
      {data !== null && <Statement audit={data} />}
      <CommandLine text="tidegate audit verify statement.json" />
    </>
  );
}

function Statement({ audit }: { readonly audit: Audit }) {
  const { bucket, prefix, counts, sinkChecked, startedAt, endedAt } = audit;
  return (
    <>
      <Figures figures={STATUSES.map(([status, note]) => figureOf(status, note, counts))} />
      <Panel title="What was compared">
        <Facts
          rows={[
            ["Objects", `s3://${bucket}/${prefix}`],
            ["Last modified", auditWindow(audit)],
            ["Sink", sinkChecked ? "compared" : "not compared"],
            ["Took", durationText(endedAt - startedAt)],
            ["Audit", <code key="id">{audit.id}</code>],
            ["SHA-256", <code key="digest">{audit.digest}</code>],
          ]}
        />
      </Panel>
      <Exceptions audit={audit} />
    </>
  );
}

function figureOf(status: Status, note: string, counts: Audit["counts"]): Figure {
  const count = counts[status];
  const tone = BAD.has(status) ? "bad" : status === "unknown" ? "warn" : undefined;
  return { label: status, value: countText(count), note, tone: count > 0 ? tone : undefined };
}

function Exceptions({ audit }: { readonly audit: Audit }) {
  const { bucket, exceptions } = audit;
  const columns: readonly RowColumn<Exception>[] = [
    {
      label: "Object",
      cell: ({ key }) => (
        <a href={linkTo(["records"], { search: `s3://${bucket}/${key}` })}>{key}</a>
      ),
    },
    { label: "Version", cell: ({ versionId }) => versionId ?? "" },
    { label: "Status", kind: "tight", cell: ({ status }) => status },
    { label: "Reason", cell: ({ reason }) => reason },
  ];
  const total = LISTED.reduce((sum, status) => sum + audit.counts[status], 0);
  const all = amountText(Math.max(total, exceptions.length), "object version");
  const note = total > exceptions.length ? `the first ${exceptions.length} of ${all}` : all;
  return (
    <Panel title="Exceptions" note={exceptions.length === 0 ? undefined : note} flush>
      {exceptions.length === 0 ? (
        <Empty title="No exceptions">Every object version has the status that it should.</Empty>
      ) : (
        <Rows
          label="Exceptions"
          columns={columns}
          items={exceptions}
          keyOf={({ key, versionId }) => `${key} ${versionId ?? ""}`}
        />
      )}
    </Panel>
  );
}
