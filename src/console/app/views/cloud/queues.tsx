// Queues: every queue with its counts.

import { useEffect } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText, durationText } from "../../data/format.ts";
import { goTo, linkTo, queryText } from "../../data/route.ts";
import { useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { Badge, Heading, Panel } from "../../parts/layout.tsx";
import { Empty, LoadError, Waiting } from "../../parts/notices.tsx";
import { Pager, type RowColumn, Rows } from "../../parts/rows.tsx";

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
  const cursor = route.query.get("cursor");
  const named = route.query.get("queue") ?? route.query.get("name");
  useEffect(() => {
    if (named !== null) goTo(linkTo(["queues", named]), true);
  }, [named]);
  const loaded = useLoad<ApiSchema["QueueList"]>(`/queues${queryText({ cursor })}`, LIVE_MS);
  const { data } = loaded;
  return (
    <>
      <Heading title="Queues" lead="Open a queue to see its messages without receiving them." />
      <LoadError loaded={loaded} what="Queues" />
      <Panel title="Queues" note={data === null ? "" : countText(data.queues.length)} flush>
        {data === null && loaded.error === null && <Waiting rows={4} />}
        {data !== null && data.queues.length > 0 && (
          <Rows label="Queues" columns={COLUMNS} items={data.queues} keyOf={({ name }) => name} />
        )}
        {data !== null && data.queues.length === 0 && (
          <Empty title="No queues">
            Create one with the AWS CLI, or start with a setup file:{" "}
            <code>tidegate up --setup</code>.
          </Empty>
        )}
        {data !== null && (data.next !== null || cursor !== null) && (
          <Pager
            note=""
            first={cursor === null ? null : linkTo(["queues"])}
            next={data.next === null ? null : linkTo(["queues"], { cursor: data.next })}
          />
        )}
      </Panel>
    </>
  );
}
