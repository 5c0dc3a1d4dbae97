// Objects: browse a bucket folder by folder, and upload files into the folder that is shown.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { bytesText, timeText } from "../../data/format.ts";
import { linkTo, queryText } from "../../data/route.ts";
import { useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { Heading } from "../../parts/layout.tsx";
import { ListPanel, useCursor } from "../../parts/list-panel.tsx";
import { Empty } from "../../parts/notices.tsx";
import type { RowColumn } from "../../parts/rows.tsx";
import { UploadPanel } from "./upload-panel.tsx";

type ObjectList = ApiSchema["ObjectList"];

interface Entry {
  readonly key: string;
  readonly object: ApiSchema["ObjectSummary"] | null;
}

const columns = (bucket: string, prefix: string): readonly RowColumn<Entry>[] => [
  {
    label: "Name",
    cell: ({ key, object }) =>
      object === null ? (
        <a href={linkTo(["buckets", bucket], { prefix: key })}>{key.slice(prefix.length)}</a>
      ) : (
        <a href={linkTo(["records"], { search: `s3://${bucket}/${key}` })}>
          {key.slice(prefix.length)}
        </a>
      ),
  },
  { label: "Size", kind: "number", cell: ({ object }) => (object ? bytesText(object.size) : "") },
  {
    label: "Modified",
    kind: "tight",
    cell: ({ object }) => (object ? timeText(object.lastModified) : ""),
  },
  { label: "ETag", cell: ({ object }) => (object ? <code>{object.etag}</code> : "") },
];

export function ObjectsScreen({ bucket }: { readonly bucket: string }) {
  const { route } = useSession();
  const prefix = route.query.get("prefix") ?? "";
  const cursor = useCursor();
  const path = `/buckets/${encodeURIComponent(bucket)}/objects${queryText({ prefix, cursor })}`;
  const loaded = useLoad<ObjectList>(path, LIVE_MS);
  return (
    <>
      <Heading title={bucket} crumbs={crumbsOf(bucket, prefix)} />
      <UploadPanel bucket={bucket} prefix={prefix} onUploaded={loaded.reload} />
      <ListPanel
        title={prefix === "" ? "Objects" : prefix}
        label="Objects"
        note="open one to see its records"
        loaded={loaded}
        items={entriesOf}
        columns={columns(bucket, prefix)}
        keyOf={({ key, object }) => `${object === null ? "folder" : "object"} ${key}`}
        link={[["buckets", bucket], { prefix }]}
      >
        <Empty title="Nothing here">Drop a file above to upload it into this folder.</Empty>
      </ListPanel>
    </>
  );
}

function entriesOf({ folders, objects }: ObjectList): Entry[] {
  return [
    ...folders.map((key) => ({ key, object: null })),
    ...objects.map((object) => ({ key: object.key, object })),
  ];
}

function crumbsOf(bucket: string, prefix: string): { text: string; href: string }[] {
  const crumbs = [{ text: "Buckets", href: linkTo(["buckets"]) }];
  if (prefix !== "") crumbs.push({ text: bucket, href: linkTo(["buckets", bucket]) });
  const folders = prefix.split("/").slice(0, -2);
  for (const [index, folder] of folders.entries()) {
    const start = `${folders.slice(0, index + 1).join("/")}/`;
    crumbs.push({ text: folder, href: linkTo(["buckets", bucket], { prefix: start }) });
  }
  return crumbs;
}
