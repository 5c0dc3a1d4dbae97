// Runs: each life of a process, and each replay, with digests of code and configuration.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { durationText, jsonText, timeText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useScopedPath, useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { CodeBlock } from "../../parts/code.tsx";
import { Badge, Heading } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";

type Run = ApiSchema["Run"];

const columns = (open: string | null): readonly RowColumn<Run>[] => [
  {
    label: "Run",
    cell: (run) => (
      <details class="peek" open={run.id === open}>
        <summary>
          <span class="mono">{run.id}</span>
        </summary>
        <CodeBlock
          label="Run details"
          text={jsonText({
            codeDigest: run.codeDigest,
            configDigest: run.configDigest,
            environment: run.environment,
            parameters: run.parameters,
          })}
        />
      </details>
    ),
  },
  { label: "Kind", kind: "tight", cell: ({ kind }) => kind },
  {
    label: "State",
    kind: "tight",
    cell: ({ alive, endedAt }) =>
      alive ? (
        <Badge tone="good">running</Badge>
      ) : (
        <Badge tone={endedAt === null ? "warn" : "none"}>
          {endedAt === null ? "no end" : "ended"}
        </Badge>
      ),
  },
  { label: "Started", kind: "tight", cell: ({ startedAt }) => timeText(startedAt) },
  {
    label: "Duration",
    kind: "tight",
    cell: ({ startedAt, endedAt, seenAt }) => durationText((endedAt ?? seenAt) - startedAt),
  },
  { label: "Counts", cell: ({ counts }) => countsText(counts) },
];

function countsText(counts: unknown): string {
  if (typeof counts !== "object" || counts === null) return "";
  return Object.entries(counts)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}

export function RunsScreen() {
  const { route } = useSession();
  const cursor = useCursor();
  const loaded = useLoad<ApiSchema["RunList"]>(useScopedPath("/runs", { cursor }), LIVE_MS);
  return (
    <>
      <Heading
        title="Runs"
        crumbs={[{ text: "Time", href: linkTo(["time"]) }]}
        lead="Which code processed which records: each life of a process, and each replay."
      />
      <ListPanel
        label="Runs"
        note="newest first"
        loaded={loaded}
        items={({ runs }) => runs}
        columns={columns(route.query.get("run"))}
        keyOf={({ id }) => id}
        link={[["runs"]]}
      >
        <Empty title="No runs">A run appears when a pipeline starts.</Empty>
      </ListPanel>
    </>
  );
}
