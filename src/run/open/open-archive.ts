// Open archive: the archive of a pipeline's messages, in its bucket.

import { createMessageArchive } from "../../ingest/archive/message-archive.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { MessageArchive } from "../../ports/message-archive.ts";
import { openAwsWriter } from "./aws-environment.ts";
import type { Server } from "./find-server.ts";

export interface OpenedArchive {
  /** Null if the pipeline has none. */
  readonly archive: MessageArchive | null;
  close(): Promise<void>;
}

export async function openArchive(
  { archive: settings }: Pipeline,
  server: Server,
): Promise<OpenedArchive> {
  if (settings === null) return { archive: null, close: async () => undefined };
  const { writer, close } = await openAwsWriter(server);
  return { archive: createMessageArchive(writer, settings), close: async () => close() };
}
