// Queues: every queue with its counts.

import { useEffect } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText, durationText } from "../../data/format.ts";
import { goTo, linkTo, queryText } from "../../data/route.ts";
import { useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { Badge, Heading } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";

type QueueSummary = ApiSchema["QueueSummary"];

const COLUMNS: readonly RowColumn<QueueSummary>[] = [
  {
    label: "Queue",
    cell: ({ name, role, fifo }) => (
      <>
        <a href={linkTo(["queues", name])}>{name}</a>{" "}
        {role !== null && <Badge tone={role === "dead-letter" ? "bad" : "accent"}>{role}</Badge>}{" "}
        {fifo && <Badge tone="none">FIFO</Badge>}
      </>
    ),
  },
  {
    label: "Waiting",
    kind: "number",
    cell: ({ name, visible }) => <a href={linkTo(["queues", name])}>{countText(visible)}</a>,
  },
  {
    label: "In flight",
    kind: "number",
    cell: ({ name, inFlight }) => <a href={linkTo(["queues", name])}>{countText(inFlight)}</a>,
  },
  {
    label: "Delayed",
    kind: "number",
    cell: ({ name, delayed }) => <a href={linkTo(["queues", name])}>{countText(delayed)}</a>,
  },
  { label: "Oldest", kind: "number", cell: ({ oldestAgeMs }) => durationText(oldestAgeMs) },
  {
    label: "Dead-letter queue",
    cell: ({ deadLetterQueue: name }) =>
      name === null ? (
        <span class="muted">none</span>
      ) : (
        <a href={linkTo(["queues", name])}>{name}</a>
      ),
  },
];

export function QueuesScreen() {
  const { route } = useSession();
  const cursor = useCursor();
  const named = route.query.get("queue") ?? route.query.get("name");
  useEffect(() => {
    if (named !== null) goTo(linkTo(["queues", named]), true);
  }, [named]);
  const loaded = useLoad<ApiSchema["QueueList"]>(`/queues${queryText({ cursor })}`, LIVE_MS);
  const { data } = loaded;
  return (
    <>
      <Heading title="Queues" lead="Open a queue to see its messages without receiving them." />
      <ListPanel
        label="Queues"
        note={data === null ? "" : countText(data.queues.length)}
        loaded={loaded}
        items={({ queues }) => queues}
        columns={COLUMNS}
        keyOf={({ name }) => name}
        link={[["queues"]]}
        waiting={4}
      >
        <Empty title="No queues">
          Create one with the AWS CLI, or start with a setup file: <code>tidegate up --setup</code>.
        </Empty>
      </ListPanel>
    </>
  );
}
