// Document limits: how much of an XML document a request to S3 may hold in memory.

/** Configurations and tags. */
export const DOCUMENT_BYTES_MAX = 256 * 1_024;
/** Lists of up to 1,000 keys or 10,000 parts, which are always sent with POST. */
export const LIST_DOCUMENT_BYTES_MAX = 8 * 1_024 ** 2;
