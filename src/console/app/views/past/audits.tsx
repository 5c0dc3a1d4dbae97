// Audits: the latest comparisons of bucket, ledger and sink, and what each found.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText, timeText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useScopedPath, useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { CommandLine } from "../../parts/code.tsx";
import { Badge, Heading, Panel, type Tone } from "../../parts/layout.tsx";
import { Empty, LoadError, Waiting } from "../../parts/notices.tsx";
import { Pager, type RowColumn, Rows } from "../../parts/rows.tsx";

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
  const { route } = useSession();
  const cursor = route.query.get("cursor");
  const loaded = useLoad<ApiSchema["AuditList"]>(useScopedPath("/audits", { cursor }), LIVE_MS);
  const { data } = loaded;
  return (
    <>
      <Heading
        title="Audits"
        crumbs={[{ text: "Time", href: linkTo(["time"]) }]}
        lead="Bucket, ledger and sink compared: is every object version applied exactly once?"
      />
      <LoadError loaded={loaded} what="Audits" />
      <Panel title="Audits" note="newest first" flush>
        {data === null && loaded.error === null && <Waiting rows={6} />}
        {data !== null && data.audits.length > 0 && (
          <Rows label="Audits" columns={COLUMNS} items={data.audits} keyOf={({ id }) => id} />
        )}
        {data !== null && data.audits.length === 0 && (
          <Empty title="No audits">
            Run one with <code>tidegate audit pipeline.ts</code>. The ledger keeps the results of
            the latest audits.
          </Empty>
        )}
        {data !== null && (data.next !== null || cursor !== null) && (
          <Pager
            note=""
            first={cursor === null ? null : linkTo(["audits"])}
            next={data.next === null ? null : linkTo(["audits"], { cursor: data.next })}
          />
        )}
      </Panel>
      <CommandLine text="tidegate audit pipeline.ts --out statement.json" />
    </>
  );
}
