// Topics: every topic with its subscriptions.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { countText } from "../../data/format.ts";
import { linkTo, queryText } from "../../data/route.ts";
import { useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { Badge, Heading } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";

type Topic = ApiSchema["Topic"];

const COLUMNS: readonly RowColumn<Topic>[] = [
  {
    label: "Topic",
    cell: ({ name, arn, fifo }) => (
      <>
        <a href={linkTo(["topics"], { name })}>{name}</a> {fifo && <Badge tone="none">FIFO</Badge>}
        <div class="small muted mono">{arn}</div>
      </>
    ),
  },
  { label: "Subscriptions", cell: ({ subscriptions }) => <Subscriptions list={subscriptions} /> },
  {
    label: "Waiting, HTTP",
    kind: "number",
    cell: ({ pending }) => countText(pending),
  },
  {
    label: "Dropped",
    kind: "number",
    cell: ({ dropped }) => <span class={dropped > 0 ? "bad" : ""}>{countText(dropped)}</span>,
  },
];

function Subscriptions({ list }: { readonly list: Topic["subscriptions"] }) {
  if (list.length === 0) return <span class="warn">none: what is published is lost</span>;
  return (
    <ul class="plain">
      {list.map(({ arn, protocol, endpoint }) => (
        <li key={arn}>
          <span class="muted">{protocol}</span>{" "}
          {protocol === "sqs" ? (
            <a href={linkTo(["queues", endpoint.split(":").at(-1) ?? ""])}>
              {endpoint.split(":").at(-1)}
            </a>
          ) : (
            endpoint
          )}
        </li>
      ))}
    </ul>
  );
}

export function TopicsScreen() {
  const { route } = useSession();
  const cursor = useCursor();
  const prefix = route.query.get("name");
  const loaded = useLoad<ApiSchema["TopicList"]>(
    `/topics${queryText({ cursor, prefix })}`,
    LIVE_MS,
  );
  const { data } = loaded;
  return (
    <>
      <Heading title="Topics" lead="A topic copies each notification to all its subscriptions.">
        {prefix !== null && (
          <a class="button" href={linkTo(["topics"])}>
            Show all topics
          </a>
        )}
      </Heading>
      <ListPanel
        label="Topics"
        note={data === null ? "" : countText(data.topics.length)}
        loaded={loaded}
        items={({ topics }) => topics}
        columns={COLUMNS}
        keyOf={({ arn }) => arn}
        link={[["topics"]]}
        waiting={4}
      >
        <Empty title="No topics">
          Create one with the AWS CLI, or start with a setup file: <code>tidegate up --setup</code>.
        </Empty>
      </ListPanel>
    </>
  );
}
