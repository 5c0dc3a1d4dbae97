// Queue messages: a look into a queue. Nothing is received, so nothing becomes invisible.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText, jsonText, timeText } from "../../data/format.ts";
import { linkTo, queryText } from "../../data/route.ts";
import { useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { CodeBlock } from "../../parts/code.tsx";
import { Badge } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";

type Message = ApiSchema["Message"];

const STATES = { visible: "good", "in-flight": "accent", delayed: "none" } as const;

const COLUMNS: readonly RowColumn<Message>[] = [
  {
    label: "Message",
    cell: (message) => (
      <details class="peek">
        <summary>
          <span class="mono">{message.messageId}</span>
          <span class="muted">{message.object === null ? message.body.slice(0, 80) : ""}</span>
        </summary>
        <CodeBlock label="Message body" text={jsonText(message.body)} />
        {message.truncated && <p class="muted">The body is cut.</p>}
        <MessageAttributes message={message} />
      </details>
    ),
  },
  {
    label: "Object",
    cell: ({ object }) => (object === null ? "" : <ObjectRecords object={object} />),
  },
  {
    label: "State",
    kind: "tight",
    cell: ({ state }) => <Badge tone={STATES[state]}>{state}</Badge>,
  },
  { label: "Received", kind: "number", cell: ({ receiveCount }) => countText(receiveCount) },
  { label: "Group", cell: ({ groupId }) => groupId ?? "" },
  { label: "Sent", kind: "tight", cell: ({ sentAt }) => timeText(sentAt) },
];

function MessageAttributes({ message }: { readonly message: Message }) {
  const entries = Object.entries(message.attributes);
  if (entries.length === 0) return null;
  return (
    <dl class="facts">
      {entries.map(([name, { type, value }]) => (
        <>
          <dt>
            {name} ({type})
          </dt>
          <dd>
            <code>{value}</code>
          </dd>
        </>
      ))}
    </dl>
  );
}

function ObjectRecords({
  object,
}: {
  readonly object: { readonly bucket: string; readonly key: string };
}) {
  const name = `s3://${object.bucket}/${object.key}`;
  return <a href={linkTo(["records"], { search: name })}>{name}</a>;
}

export function QueueMessages({ queue }: { readonly queue: string }) {
  const { route } = useSession();
  const cursor = useCursor();
  const state = route.query.get("state");
  const path = `/queues/${encodeURIComponent(queue)}/messages${queryText({ cursor })}`;
  const loaded = useLoad<ApiSchema["MessageList"]>(path, LIVE_MS);
  return (
    <ListPanel
      label="Messages"
      note={state === null ? "oldest first, not received" : `${state} on this page`}
      actions={state === null ? undefined : <a href={linkTo(["queues", queue])}>Show all</a>}
      loaded={loaded}
      items={({ messages }) => messages.filter((each) => state === null || each.state === state)}
      columns={COLUMNS}
      keyOf={({ seq }) => seq}
      link={[["queues", queue], { state }]}
      waiting={5}
    >
      <Empty title="No messages">
        The queue is drained. Send one with “Send…”, or upload a file in{" "}
        <a href={linkTo(["buckets"])}>Buckets</a>.
      </Empty>
    </ListPanel>
  );
}
