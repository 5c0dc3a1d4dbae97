// Upload panel: files by drag and drop or by a button, and the way of each through the pipeline.
//   U1. A file is followed from its upload to the outcome of its record. An older record of the
//       same key is not taken for it.
//   U2. The keyboard uses the button; dragging is never the only way.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { callApi } from "../../data/api-client.ts";
import { bytesText } from "../../data/format.ts";
import { linkTo, queryText } from "../../data/route.ts";
import { useRefusal, useScopedPath } from "../../data/session.ts";
import { Icon } from "../../parts/icons.tsx";
import { Badge, Panel } from "../../parts/layout.tsx";
import { OutcomeBadge } from "../../parts/outcome-badge.tsx";

interface Upload {
  readonly id: number;
  readonly file: File;
  readonly key: string;
}

interface UploadPanelProps {
  readonly bucket: string;
  readonly prefix: string;
  readonly onUploaded: () => void;
}

const FOLLOW_MS = 1_000;
/** Clocks of the browser and of the server may differ; a record is never older than this. */
const OLDER_MS_MAX = 5_000;

export function UploadPanel({ bucket, prefix, onUploaded }: UploadPanelProps) {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const refusal = useRefusal();
  const add = (files: FileList | null | undefined) => {
    if (refusal !== null) return;
    const added = [...(files ?? [])].map((file) => ({
      id: performance.now() + Math.random(),
      file,
      key: `${prefix}${file.name}`,
    }));
    setUploads((previous) => [...added, ...previous]);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    add(event.dataTransfer?.files);
  };
  return (
    <Panel title="Upload" note={`to s3://${bucket}/${prefix}`}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button does the same (U2). */}
      <div
        class="drop"
        data-over={over}
        aria-disabled={refusal !== null}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(refusal === null);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <Icon name="upload" size={22} />
        <span>
          {refusal ?? "Drop files here to upload them and follow them through the pipeline"}
        </span>
        <button type="button" disabled={refusal !== null} onClick={() => input.current?.click()}>
          Choose files…
        </button>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={(event) => add(event.currentTarget.files)}
        />
      </div>
      {uploads.length > 0 && (
        <ul class="uploads" aria-label="Uploads">
          {uploads.map((upload) => (
            <UploadRow key={upload.id} upload={upload} bucket={bucket} onUploaded={onUploaded} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

type Step =
  | { readonly kind: "sending" }
  | { readonly kind: "sent" }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "record"; readonly record: ApiSchema["RecordSummary"] };

interface UploadRowProps {
  readonly upload: Upload;
  readonly bucket: string;
  readonly onUploaded: () => void;
}

function UploadRow({ upload, bucket, onUploaded }: UploadRowProps) {
  const step = useUpload(upload, bucket, onUploaded);
  const name = `s3://${bucket}/${upload.key}`;
  return (
    <li>
      <a href={linkTo(["records"], { search: name })}>{upload.key}</a>
      <span class="muted">{bytesText(upload.file.size)}</span>
      {step.kind === "sending" && <Badge tone="none">uploading</Badge>}
      {step.kind === "sent" && <Badge tone="accent">uploaded, waiting for the pipeline</Badge>}
      {step.kind === "failed" && <Badge tone="bad">{step.message}</Badge>}
      {step.kind === "record" && (
        <a href={linkTo(["records", step.record.key])}>
          <OutcomeBadge outcome={step.record.outcome} />
          <span class="hidden-text"> timeline of {upload.key}</span>
        </a>
      )}
    </li>
  );
}

/** Uploads a file, then looks for its record until it has an outcome (U1). */
function useUpload({ file, key }: Upload, bucket: string, onUploaded: () => void): Step {
  const [step, setStep] = useState<Step>({ kind: "sending" });
  const records = useScopedPath("/records", { search: `s3://${bucket}/${key}` });
  // A file is uploaded once, so nothing starts this again.
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const run = async () => {
      const path = `/buckets/${encodeURIComponent(bucket)}/objects${queryText({ key })}`;
      const { now } = await callApi<ApiSchema["Session"]>("/session", { signal });
      await callApi(path, { method: "PUT", body: file, signal });
      setStep({ kind: "sent" });
      onUploaded();
      while (!signal.aborted) {
        const { records: list } = await callApi<ApiSchema["RecordList"]>(records, { signal });
        const record = list
          .filter(({ seenAt }) => seenAt >= now - OLDER_MS_MAX)
          .toSorted((a, b) => b.seenAt - a.seenAt)[0];
        if (record !== undefined) setStep({ kind: "record", record });
        if (record?.outcome === "committed" || record?.outcome === "dead-lettered") return;
        await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS));
      }
    };
    run().catch((cause: unknown) => {
      if (!signal.aborted) setStep({ kind: "failed", message: (cause as Error).message });
    });
    return () => stop.abort();
  }, []);
  return step;
}
