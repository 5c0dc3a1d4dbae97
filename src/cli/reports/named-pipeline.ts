// Named pipeline: what a `--pipeline` flag names: a pipeline, or the file of one.

const PIPELINE_FILE = /\.m?[jt]s$/;

export interface NamedPipeline {
  readonly pipeline?: string;
  readonly bucket?: string | null;
  readonly generation?: number;
}

export async function namedPipeline(given: string | undefined): Promise<NamedPipeline> {
  if (given === undefined) return {};
  if (!PIPELINE_FILE.test(given)) return { pipeline: given };
  const { loadPipeline } = await import("../../run/open/load-pipeline.ts");
  const { name: pipeline, source, generation } = await loadPipeline(given);
  return { pipeline, bucket: source.bucket, generation };
}
