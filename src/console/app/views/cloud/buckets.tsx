// Buckets: every bucket; the one that the pipeline reads comes with its prefix.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { timeText } from "../../data/format.ts";
import { linkTo, queryText } from "../../data/route.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { Badge, Heading } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";

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
  const cursor = useCursor();
  const loaded = useLoad<ApiSchema["BucketList"]>(`/buckets${queryText({ cursor })}`, LIVE_MS);
  return (
    <>
      <Heading title="Buckets" lead="Open a bucket to browse its objects and to upload files." />
      <ListPanel
        label="Buckets"
        loaded={loaded}
        items={({ buckets }) => buckets}
        columns={COLUMNS}
        keyOf={({ name }) => name}
        link={[["buckets"]]}
        waiting={3}
      >
        <Empty title="No buckets">
          Create one with the AWS CLI: <code>aws s3 mb s3://inbox</code>.
        </Empty>
      </ListPanel>
    </>
  );
}
