// Audits: the latest comparisons of bucket, ledger and sink, and what each found.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText, timeText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useScopedPath } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { CommandLine } from "../../parts/code.tsx";
import { Badge, Heading, type Tone } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";

type Audit = ApiSchema["Audit"];

const TONES: Readonly<Record<Audit["verdict"], Tone>> = {
  complete: "good",
  accounted: "warn",
  incomplete: "bad",
  undecided: "warn",
};

export function VerdictBadge({ verdict }: { readonly verdict: Audit["verdict"] }) {
  return <Badge tone={TONES[verdict]}>{verdict}</Badge>;
}

/** The window of an audit: when its objects were last modified. */
export function auditWindow({ from, to }: Audit): string {
  return from === null ? `until ${timeText(to)}` : `${timeText(from)} to ${timeText(to)}`;
}

const COLUMNS: readonly RowColumn<Audit>[] = [
  {
    label: "Audit",
    cell: ({ id, startedAt }) => <a href={linkTo(["audits", id])}>{timeText(startedAt)}</a>,
    kind: "tight",
  },
  { label: "Verdict", kind: "tight", cell: ({ verdict }) => <VerdictBadge verdict={verdict} /> },
  { label: "Objects", cell: ({ bucket, prefix }) => `s3://${bucket}/${prefix}` },
  { label: "Last modified", cell: auditWindow },
  { label: "Committed", kind: "number", cell: ({ counts }) => countText(counts.committed) },
  { label: "Missing", kind: "number", cell: ({ counts }) => countText(counts.missing) },
  { label: "Orphans", kind: "number", cell: ({ counts }) => countText(counts.orphan) },
  { label: "Doubles", kind: "number", cell: ({ counts }) => countText(counts.double) },
  { label: "Unknown", kind: "number", cell: ({ counts }) => countText(counts.unknown) },
];

export function AuditsScreen() {
  const cursor = useCursor();
  const loaded = useLoad<ApiSchema["AuditList"]>(useScopedPath("/audits", { cursor }), LIVE_MS);
  return (
    <>
      <Heading
        title="Audits"
        crumbs={[{ text: "Time", href: linkTo(["time"]) }]}
        lead="Bucket, ledger and sink compared: is every object version applied exactly once?"
      />
      <ListPanel
        label="Audits"
        note="newest first"
        loaded={loaded}
        items={({ audits }) => audits}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        link={[["audits"]]}
      >
        <Empty title="No audits">
          Run one with <code>tidegate audit pipeline.ts</code>. The ledger keeps the results of the
          latest audits.
        </Empty>
      </ListPanel>
      <CommandLine text="tidegate audit pipeline.ts --out statement.json" />
    </>
  );
}
