// Redrive item: how redrive and drop name a dead letter in their events.

import { deadLetterFacts } from "./dead-letter-list.ts";
import { objectUrl, type ReadDeadLetter } from "./dead-letter-read.ts";
import type { Dossier } from "./dossier.ts";
import type { RedriveItem } from "./redrive-events.ts";

export function redriveItemOf(deadLetter: ReadDeadLetter): RedriveItem {
  const { records, shownObject: object, errorClass, fingerprint, failedAt } = deadLetter;
  return { key: records[0]?.key ?? "", object, errorClass, fingerprint, failedAt };
}

export function itemOfDossier(dossier: Dossier): RedriveItem {
  const { errorClass, fingerprint, failedAt } = deadLetterFacts(dossier);
  const object = dossier.object === null ? null : objectUrl(dossier.object);
  return { key: dossier.record_key, object, errorClass, fingerprint, failedAt };
}
