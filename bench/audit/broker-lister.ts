// Broker lister: lists a bucket of the embedded cloud in this process, without HTTP.

import type { Broker } from "../../src/broker/engine/broker.ts";
import { normalizeVersionId } from "../../src/core/events/object-identity.ts";
import type { ObjectLister } from "../../src/ports/objects/object-lister.ts";

const PAGE = 1_000;

export function createBrokerLister(broker: Broker): ObjectLister {
  return {
    async list({ bucket, prefix, after }) {
      const [key, afterVersion] =
        after === null ? ["", null] : (JSON.parse(after) as [string, string | null]);
      const input = { bucket, prefix, delimiter: "", after: key, afterVersion, limit: PAGE };
      const listed = await broker.submit("listObjectVersions", input);
      if (!listed.ok) throw new Error(listed.fault.message);
      const { entries, next, nextVersion } = listed.value;
      const objects = entries
        .filter(({ marker }) => !marker)
        .map(({ key: name, version, etag, sizeBytes, modifiedAt, latest }) => ({
          key: name,
          versionId: normalizeVersionId(version),
          etag,
          size: sizeBytes,
          lastModified: modifiedAt,
          isLatest: latest,
        }));
      return { objects, next: next === null ? null : JSON.stringify([next, nextVersion]) };
    },
  };
}
