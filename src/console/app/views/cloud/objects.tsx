// Objects: browse a bucket folder by folder, and upload files into the folder that is shown.

import type { ApiSchema } from "../../../api/api-schema.ts";
import { bytesText, timeText } from "../../data/format.ts";
import { linkTo, queryText } from "../../data/route.ts";
import { useSession } from "../../data/session.ts";
import { LIVE_MS, useLoad } from "../../data/use-load.ts";
import { Heading, Panel } from "../../parts/layout.tsx";
import { Empty, LoadError, Waiting } from "../../parts/notices.tsx";
import { Pager, type RowColumn, Rows } from "../../parts/rows.tsx";
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
  const cursor = route.query.get("cursor");
  const path = `/buckets/${encodeURIComponent(bucket)}/objects${queryText({ prefix, cursor })}`;
  const loaded = useLoad<ObjectList>(path, LIVE_MS);
  const { data } = loaded;
  return (
    <>
      <Heading title={bucket} crumbs={crumbsOf(bucket, prefix)} />
      <LoadError loaded={loaded} what="Objects" />
      <UploadPanel bucket={bucket} prefix={prefix} onUploaded={loaded.reload} />
      <Panel title={prefix === "" ? "Objects" : prefix} note="open one to see its records" flush>
        {data === null && loaded.error === null && <Waiting rows={6} />}
        {data !== null && entriesOf(data).length > 0 && (
          <Rows
            label="Objects"
            columns={columns(bucket, prefix)}
            items={entriesOf(data)}
            keyOf={({ key, object }) => `${object === null ? "folder" : "object"} ${key}`}
          />
        )}
        {data !== null && entriesOf(data).length === 0 && (
          <Empty title="Nothing here">Drop a file above to upload it into this folder.</Empty>
        )}
        {data !== null && (data.next !== null || cursor !== null) && (
          <Pager
            note=""
            first={cursor === null ? null : linkTo(["buckets", bucket], { prefix })}
            next={
              data.next === null ? null : linkTo(["buckets", bucket], { prefix, cursor: data.next })
            }
          />
        )}
      </Panel>
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
