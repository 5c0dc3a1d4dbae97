// View mask: the masks of a console on what its ledger has.
//   V1. The pipeline masked its records and dossiers when it wrote them, with its own masks. These
//       masks are those that the console has in addition, as `tidegate up --mask`.
//   V2. Names are masked as `object.key`, `object.bucket` and `businessKey`. A record key is a hash
//       and is never masked, because pages refer to it. A partition may be a group, which may be a
//       business key, or a bucket and a folder of it: the masks of both apply.
//   V3. An error may quote any value. It is shown only if the whole payload is known, so that its
//       values can be removed from the text. The rows of an object are not known here.
//   V4. A path finds nothing in a text. So a payload is hidden completely if it is not JSON: a body
//       of another format, or a payload that was cut because it was too long for a dossier.
//   V5. Where payloads are hidden without masks, errors are hidden as well (V3).
//   V6. The pipeline cut a long error after it had removed the values of its own masks. Half of a
//       value of these masks may be at its end, so such an error is hidden.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { createMask } from "../../core/encoding/mask.ts";
import { hiddenBodyOf, MASKED } from "../../core/encoding/secrets.ts";
import type { DeadLetterGroupView, DeadLetterView } from "../pages/dead-letter-pages.ts";
import type { RecordHistory, RecordSummary } from "../pages/record-pages.ts";
import type { ReplayView } from "../pages/replay-pages.ts";
import type { TimeView } from "../pages/time-page.ts";
import { hasJsonPayload, scrubTexts, unwrapped } from "./json-texts.ts";

type FailureView = NonNullable<RecordSummary["failure"]>;

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
const PARTITION_CLAUSE = /^the partition (.*) has not moved on$/s;
const FOLDER = /^([^/]+)\/(.*)$/s;

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

/** Views without errors and the payloads of dead letters, for which `text` is shown (V5). */
export function hidePayloads(text: string): ViewMask {
  const { text: scrub } = createMask([]);
  const deadLetter = (view: DeadLetterView) => ({ ...view, ...hiddenError(view), payload: text });
  return {
    ...PLAIN_VIEWS,
    deadLetter,
    group: (view) => ({ ...view, message: MASKED, sample: deadLetter(view.sample) }),
    summary: hiddenSummary,
    record(view) {
      const errors = errorsIn(view);
      const { summary, timeline, deadLetter: dossier } = view;
      return {
        ...view,
        summary: hiddenSummary(summary),
        timeline: timeline.map((each) => ({ ...each, failure: hiddenFailure(each.failure) })),
        deadLetter: dossier && deadLetter(dossier),
        text: view.text.map((line) => scrub(line, errors)),
      };
    },
    replay: (view) => maskReplay(view, (name) => name),
  };
}

export function createViewMask(paths: readonly string[]): ViewMask {
  const mask = createMask(paths);
  const naming = createNames(mask);
  const { name, partition: partitionName, secretsIn } = naming;

  /** Removes the secrets from all texts of a view except its key (V2). */
  function scrubbed<T extends object>(view: T, secrets: readonly string[]): T {
    const json = view as unknown as JsonValue;
    return scrubTexts(json, (text) => mask.text(text, secrets)) as unknown as T;
  }

  function deadLetter(view: DeadLetterView): DeadLetterView {
    const json = shownPayload(view.payload);
    const secrets = [...mask.secretsOf(json), ...secretsIn(view)];
    const error = isWhole(view) && !isCut(view) ? {} : hiddenError(view); // V3, V6
    const masked = { ...view, ...error, payload: mask.value(json), name: name(view.name) };
    return { ...scrubbed(masked, secrets), key: view.key };
  }

  const summary = (view: RecordSummary): RecordSummary => ({
    ...hiddenSummary(view),
    name: name(view.name),
  });

  return {
    name,
    clause: (text) => maskClause(text, naming),
    deadLetter,
    group(view) {
      const sample = deadLetter(view.sample);
      return { ...view, message: sample.message, sample }; // Its message is that of the sample.
    },
    summary,
    record(view) {
      const dossier = view.deadLetter;
      const payload = dossier !== null && isWhole(dossier) ? shownPayload(dossier.payload) : null;
      const { summary: first, names, partition } = view;
      const all = errorsIn(view);
      const errors = payload === null || all.some(isCutText) ? all : []; // V3, V6
      const hidden = names.filter((text) => name(text) !== text);
      if (partitionName(partition) !== partition) hidden.push(partition);
      const secrets = [...mask.secretsOf(payload), ...secretsIn(view), ...hidden, ...errors];
      const masked = { ...view, names: names.map(name), partition: partitionName(partition) };
      const shown = scrubbed({ ...masked, deadLetter: null }, secrets);
      const title = {
        ...shown.summary,
        key: first.key,
        name: mask.text(name(first.name), secrets),
      };
      return { ...shown, summary: title, deadLetter: dossier && deadLetter(dossier) };
    },
    time: (view) => maskTime(view, naming),
    replay: (view) => maskReplay(view, name),
  };
}

type NameMask = (name: string) => string;
type Names = { readonly name: NameMask; readonly partition: NameMask };

/** V2 */
function maskClause(text: string | null, { name, partition }: Names): string | null {
  const [, idle] = PARTITION_CLAUSE.exec(text ?? "") ?? [];
  if (idle !== undefined) return `the partition ${partition(idle)} has not moved on`;
  const [, kind, what = "", time = ""] = CLAUSE.exec(text ?? "") ?? [];
  return kind === undefined ? text : `${kind}: ${name(what)}${time}`;
}

function maskTime(view: TimeView, names: Names): TimeView {
  const items = view.held.items.map((item) => ({ ...item, name: names.name(item.name) }));
  const partitions = view.partitions.map((each) => {
    return { ...each, name: names.partition(each.name) };
  });
  const heldBy = maskClause(view.heldBy, names);
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
  function name(text: string): string {
    const [, bucket, key = ""] = OBJECT_URL.exec(text) ?? [];
    if (bucket !== undefined) return `s3://${valueAt(bucket, "bucket")}/${valueAt(key, "key")}`;
    return valueAt(text, "businessKey");
  }
  return {
    name,
    partition(text: string): string {
      const [, bucket, folder = ""] = FOLDER.exec(text) ?? [];
      const shown = name(text);
      if (bucket === undefined || shown !== text) return shown;
      return `${valueAt(bucket, "bucket")}/${folder && valueAt(folder, "key")}`;
    },
    secretsIn({ object, businessKey }: Pick<DeadLetterView, "object" | "businessKey">) {
      const { bucket = null, key = null } = object ?? {};
      return mask.secretsOf({ object: { bucket, key }, businessKey });
    },
  };
}

/** The payload with the JSON in its texts, hidden if it is not JSON (V4); null if withheld. */
function shownPayload(payload: JsonValue): JsonValue {
  const json = unwrapped(payload);
  return json === null || hasJsonPayload(json) ? json : hiddenBodyOf(json);
}

/** Whether all values that an error may quote are in the payload (V3). */
function isWhole({ object, payload }: Pick<DeadLetterView, "object" | "payload">): boolean {
  const isJson = payload !== null && typeof payload === "object";
  return object === null && isJson && typeof shownPayload(payload) !== "string"; // V4
}

function isCut({ message, stack }: Pick<DeadLetterView, "message" | "stack">): boolean {
  return isCutText(message) || isCutText(stack ?? "");
}

/** As clampText ends a text. */
function isCutText(text: string): boolean {
  return text.endsWith("…");
}

function hiddenError({ stack }: DeadLetterView): Pick<DeadLetterView, "message" | "stack"> {
  return { message: MASKED, stack: stack && MASKED };
}

function hiddenSummary(view: RecordSummary): RecordSummary {
  return { ...view, failure: hiddenFailure(view.failure) }; // V3
}

function hiddenFailure(failure: FailureView | null): FailureView | null {
  return failure === null ? null : { ...failure, message: MASKED };
}

function errorsIn({ summary, timeline, deadLetter }: RecordHistory): string[] {
  const failures = [summary, ...timeline].map(({ failure }) => failure?.message ?? "");
  return [...failures, deadLetter?.message ?? ""];
}
