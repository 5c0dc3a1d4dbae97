// Buckets: every bucket; the one that the pipeline reads comes with its prefix.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { timeText } from "../../data/format.ts";
import { linkTo, queryText } from "../../data/route.ts";
import { useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { Badge, Heading, Panel } from "../../parts/layout.tsx";
import { Empty, LoadError, Waiting } from "../../parts/notices.tsx";
import { Pager, type RowColumn, Rows } from "../../parts/rows.tsx";

type Bucket = ApiSchema["Bucket"];

const COLUMNS: readonly RowColumn<Bucket>[] = [
  {
    label: "Bucket",
    cell: ({ name, isSource, prefix }) => (
      <>
        <a href={linkTo(["buckets", name], { prefix })}>{name}</a>{" "}
        {isSource && <Badge tone="accent">source</Badge>}
      </>
    ),
  },
  { label: "Prefix", cell: ({ prefix, isSource }) => (isSource ? prefix || "all objects" : "") },
  { label: "Created", kind: "tight", cell: ({ createdAt }) => timeText(createdAt) },
];

export function BucketsScreen() {
  const { route } = useSession();
  const cursor = route.query.get("cursor");
  const loaded = useLoad<ApiSchema["BucketList"]>(`/buckets${queryText({ cursor })}`, LIVE_MS);
  const { data } = loaded;
  return (
    <>
      <Heading title="Buckets" lead="Open a bucket to browse its objects and to upload files." />
      <LoadError loaded={loaded} what="Buckets" />
      <Panel title="Buckets" flush>
        {data === null && loaded.error === null && <Waiting rows={3} />}
        {data !== null && data.buckets.length > 0 && (
          <Rows label="Buckets" columns={COLUMNS} items={data.buckets} keyOf={({ name }) => name} />
        )}
        {data !== null && data.buckets.length === 0 && (
          <Empty title="No buckets">
            Create one with the AWS CLI: <code>aws s3 mb s3://inbox</code>.
          </Empty>
        )}
        {data !== null && (data.next !== null || cursor !== null) && (
          <Pager
            note=""
            first={cursor === null ? null : linkTo(["buckets"])}
            next={data.next === null ? null : linkTo(["buckets"], { cursor: data.next })}
          />
        )}
      </Panel>
    </>
  );
}
