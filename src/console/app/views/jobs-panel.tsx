// Jobs panel: the redrives, drops and releases of this server, newest first.

import type { ApiSchema } from "../../api/api-schema.ts";
import { countText, timeText } from "../data/format.ts";
import { linkTo } from "../data/route.ts";
import { LIVE_MS, useLoad } from "../data/use-load.ts";
import { Panel } from "../parts/layout.tsx";
import { Empty } from "../parts/notices.tsx";
import { type RowColumn, Rows } from "../parts/rows.tsx";
import { JobStateBadge, jobTitle } from "./job.tsx";

type Job = ApiSchema["Job"];

const COLUMNS: readonly RowColumn<Job>[] = [
  { label: "Job", cell: (job) => <a href={linkTo(["jobs", job.id])}>{jobTitle(job)}</a> },
  { label: "State", kind: "tight", cell: ({ state }) => <JobStateBadge state={state} /> },
  { label: "Selected", kind: "number", cell: ({ total }) => countText(total) },
  {
    label: "Steps",
    cell: ({ counts }) =>
      Object.entries(counts)
        .map(([step, count]) => `${step} ${countText(count)}`)
        .join(", "),
  },
  { label: "Started", kind: "tight", cell: ({ startedAt }) => timeText(startedAt) },
];

export function JobsPanel() {
  const { data } = useLoad<ApiSchema["JobList"]>("/jobs", LIVE_MS);
  const jobs = data?.jobs ?? [];
  return (
    <Panel title="Jobs" note="since the server started" flush>
      {jobs.length > 0 ? (
        <Rows label="Jobs" columns={COLUMNS} items={jobs} keyOf={({ id }) => id} />
      ) : (
        <Empty title="No jobs yet">A dry run, a redrive or a drop appears here.</Empty>
      )}
    </Panel>
  );
}
