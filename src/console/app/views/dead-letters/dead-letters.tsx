// Dead letters: grouped by cause. An operator selects by filter, looks with a dry run, then
// redrives or drops.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { filterIn, filterQuery, type LetterFilter } from "../../data/dead-letter-filter.ts";
import { agoText, amountText, countText } from "../../data/format.ts";
import { linkTo } from "../../data/route.ts";
import { useScopedPath, useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { Sparkline } from "../../parts/chart.tsx";
import { Badge, Heading } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty, Notice } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";
import { JobsPanel } from "../jobs-panel.tsx";
import { SelectionPanel } from "./dead-letter-selection.tsx";

type Group = ApiSchema["DeadLetterGroup"];
type Groups = ApiSchema["DeadLetterGroups"];

const columns = (now: number): readonly RowColumn<Group>[] => [
  {
    label: "Cause",
    cell: ({ id, message, fingerprint }) => (
      <>
        <a href={linkTo(["dead-letters", id])}>{message}</a>
        <div class="small muted mono">{fingerprint.slice(0, 16)}</div>
      </>
    ),
  },
  { label: "Class", kind: "tight", cell: (group) => <Badge tone="none">{group.errorClass}</Badge> },
  {
    label: "Count",
    kind: "number",
    cell: ({ id, count }) => <a href={linkTo(["dead-letters", id])}>{countText(count)}</a>,
  },
  { label: "Trend, per hour", kind: "tight", cell: ({ trend }) => <Trend counts={trend.counts} /> },
  { label: "First", kind: "tight", cell: (group) => agoText(group.firstFailedAt, now) },
  { label: "Last", kind: "tight", cell: (group) => agoText(group.lastFailedAt, now) },
];

export function DeadLettersScreen() {
  const { route, now } = useSession();
  const filter = filterIn(route);
  const cursor = useCursor();
  const loaded = useLoad<Groups>(useScopedPath("/dead-letters", { cursor }), LIVE_MS);
  const { data } = loaded;
  const note =
    data === null ? "" : `${countText(data.total)}${data.more ? "+" : ""} in all, by cause`;
  return (
    <>
      <Heading
        title="Dead letters"
        lead="Messages that could not be processed, with the reason. Fix the cause, then redrive."
      />
      <SelectionPanel key={JSON.stringify(filter)} filter={filter} path={["dead-letters"]} />
      <ListPanel
        label="Groups"
        note={note}
        loaded={loaded}
        items={({ groups }) => groups.filter((group) => matches(group, filter))}
        columns={columns(now)}
        keyOf={({ id }) => id}
        link={[["dead-letters"], filterQuery(filter)]}
      >
        {data !== null && <NoGroups total={data.total} />}
      </ListPanel>
      {data?.more && (
        <Notice tone="none" title="Still counting" live>
          These are the first {amountText(data.total, "dead letter")}. The page updates itself.
        </Notice>
      )}
      <JobsPanel />
    </>
  );
}

function matches(group: Group, { errorClass, fingerprint }: LetterFilter): boolean {
  if (errorClass !== undefined && group.errorClass !== errorClass) return false;
  return fingerprint === undefined || group.fingerprint.startsWith(fingerprint);
}

function NoGroups({ total }: { readonly total: number }) {
  return total === 0 ? (
    <Empty title="No dead letters">
      Every message was processed or waits for a retry. Messages appear here after their last failed
      attempt.
    </Empty>
  ) : (
    <Empty title="No group matches the filter">
      <a href={linkTo(["dead-letters"])}>Remove the filter</a> to see all groups.
    </Empty>
  );
}

export function Trend({ counts }: { readonly counts: readonly number[] }) {
  const latest = counts.at(-1) ?? 0;
  return (
    <span class="trend">
      <Sparkline counts={counts} />
      <span class="hidden-text">{amountText(latest, "failure")} in the current hour</span>
    </span>
  );
}
