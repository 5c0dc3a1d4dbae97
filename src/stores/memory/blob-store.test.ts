import { describeBlobStore } from "../../../test/contracts/blob-store.ts";
import { createMemoryBlobStore } from "./blob-store.ts";

describeBlobStore("memory", async () => createMemoryBlobStore());
