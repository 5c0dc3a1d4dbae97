// View mask: the masks of a console on what its ledger has.
//   V1. The pipeline masked its records and dossiers when it wrote them, with its own masks. These
//       masks are those that the console has in addition, as `tidegate up --mask`.
//   V2. Names are masked as `object.key`, `object.bucket` and `businessKey`. A record key is a hash
//       and is never masked, because pages refer to it.
//   V3. An error may quote any value. It is shown only if the whole payload is known, so that its
//       values can be removed from the text. The rows of an object are not known here.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { createMask, MASKED } from "../../core/encoding/mask.ts";
import type { ReplayView } from "../../ports/console-control-views.ts";
import type {
  DeadLetterGroupView,
  DeadLetterView,
  FailureView,
  RecordHistory,
  RecordSummary,
  TimeView,
} from "../../ports/console-record-views.ts";
import { scrubTexts, unwrapped } from "./json-texts.ts";

export interface ViewMask {
  /** The name of a record or of an object (V2). */
  name(name: string): string;
  /** What holds completeness back. */
  clause(clause: string | null): string | null;
  deadLetter(view: DeadLetterView): DeadLetterView;
  group(view: DeadLetterGroupView): DeadLetterGroupView;
  summary(view: RecordSummary): RecordSummary;
  record(view: RecordHistory): RecordHistory;
  time(view: TimeView): TimeView;
  replay(view: ReplayView): ReplayView;
}

const OBJECT_URL = /^s3:\/\/([^/]+)\/(.*)$/s;
const CLAUSE = /^(queued|in flight|in retry|held|dead-lettered): (.*?)(, event time [^,]*)?$/s;

/** Views as they are. */
export const PLAIN_VIEWS: ViewMask = {
  name: (name) => name,
  clause: (clause) => clause,
  deadLetter: (view) => view,
  group: (view) => view,
  summary: (view) => view,
  record: (view) => view,
  time: (view) => view,
  replay: (view) => view,
};

/** Views without the payloads of dead letters, for which `text` is shown. */
export function hidePayloads(text: string): ViewMask {
  const deadLetter = (view: DeadLetterView) => ({ ...view, payload: text });
  return {
    ...PLAIN_VIEWS,
    deadLetter,
    group: (view) => ({ ...view, sample: deadLetter(view.sample) }),
    record: (view) => ({ ...view, deadLetter: view.deadLetter && deadLetter(view.deadLetter) }),
  };
}

export function createViewMask(paths: readonly string[]): ViewMask {
  const mask = createMask(paths);
  const { name, secretsIn } = createNames(mask);

  /** Removes the secrets from all texts of a view except its key (V2). */
  function scrubbed<T extends object>(view: T, secrets: readonly string[]): T {
    const json = view as unknown as JsonValue;
    return scrubTexts(json, (text) => mask.text(text, secrets)) as unknown as T;
  }

  function deadLetter(view: DeadLetterView): DeadLetterView {
    const json = unwrapped(view.payload);
    const secrets = [...mask.secretsOf(json), ...secretsIn(view)];
    const failure = isWhole(view) ? {} : { message: MASKED, stack: view.stack && MASKED }; // V3
    const masked = { ...view, ...failure, payload: mask.value(json), name: name(view.name) };
    return { ...scrubbed(masked, secrets), key: view.key };
  }

  const summary = (view: RecordSummary): RecordSummary => ({
    ...view,
    name: name(view.name),
    failure: hiddenFailure(view.failure), // V3
  });

  function clause(text: string | null): string | null {
    const [, kind, what = "", time = ""] = CLAUSE.exec(text ?? "") ?? [];
    return kind === undefined ? text : `${kind}: ${name(what)}${time}`;
  }

  return {
    name,
    clause,
    deadLetter,
    group(view) {
      const sample = deadLetter(view.sample);
      return { ...view, message: sample.message, sample }; // Its message is that of the sample.
    },
    summary,
    record(view) {
      const dossier = view.deadLetter;
      const payload = dossier !== null && isWhole(dossier) ? unwrapped(dossier.payload) : null;
      const { summary: first, names, partition } = view;
      const errors = payload === null ? errorsIn(view) : []; // V3
      const hidden = [...names, partition].filter((text) => name(text) !== text);
      const secrets = [...mask.secretsOf(payload), ...secretsIn(view), ...hidden, ...errors];
      const masked = { ...view, names: names.map(name), partition: name(partition) };
      const shown = scrubbed({ ...masked, deadLetter: null }, secrets);
      const title = {
        ...shown.summary,
        key: first.key,
        name: mask.text(name(first.name), secrets),
      };
      return { ...shown, summary: title, deadLetter: dossier && deadLetter(dossier) };
    },
    time: (view) => maskTime(view, name, clause(view.heldBy)),
    replay: (view) => maskReplay(view, name),
  };
}

type NameMask = (name: string) => string;

function maskTime(view: TimeView, name: NameMask, heldBy: string | null): TimeView {
  const items = view.held.items.map((item) => ({ ...item, name: name(item.name) }));
  const partitions = view.partitions.map((each) => ({ ...each, name: name(each.name) }));
  return { ...view, heldBy, partitions, held: { ...view.held, items } };
}

function maskReplay(view: ReplayView, name: NameMask): ReplayView {
  const { outcome, prefix } = view;
  const failures = (outcome?.failures ?? []).map(({ uri }) => {
    return { uri: name(uri), reason: MASKED }; // V3
  });
  const shown = outcome === null ? null : { ...outcome, failures };
  return { ...view, prefix: prefix && name(prefix), outcome: shown };
}

/** V2 */
function createNames(mask: ReturnType<typeof createMask>) {
  /** One value, as if it was at that path of a record. */
  function valueAt(value: string, path: "businessKey" | "bucket" | "key"): string {
    if (path === "businessKey") return String((mask.value({ [path]: value }) as JsonObject)[path]);
    const { object } = mask.value({ object: { [path]: value } }) as JsonObject;
    return object !== null && typeof object === "object"
      ? String((object as JsonObject)[path])
      : MASKED;
  }
  return {
    name(name: string): string {
      const [, bucket, key = ""] = OBJECT_URL.exec(name) ?? [];
      if (bucket !== undefined) return `s3://${valueAt(bucket, "bucket")}/${valueAt(key, "key")}`;
      return valueAt(name, "businessKey");
    },
    secretsIn({ object, businessKey }: Pick<DeadLetterView, "object" | "businessKey">): string[] {
      const { bucket = null, key = null } = object ?? {};
      return mask.secretsOf({ object: { bucket, key }, businessKey });
    },
  };
}

/** Whether all values that an error may quote are in the payload (V3). */
function isWhole({ object, payload }: Pick<DeadLetterView, "object" | "payload">): boolean {
  return object === null && payload !== null && typeof payload === "object";
}

function hiddenFailure(failure: FailureView | null): FailureView | null {
  return failure === null ? null : { ...failure, message: MASKED };
}

function errorsIn({ summary, timeline, deadLetter }: RecordHistory): string[] {
  const failures = [summary, ...timeline].map(({ failure }) => failure?.message ?? "");
  return [...failures, deadLetter?.message ?? ""];
}
