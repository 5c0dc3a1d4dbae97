import { S3Client } from "@aws-sdk/client-s3";
import { pipeline } from "tidegate";
import { objects } from "tidegate/aws/s3";

const client = new S3Client({ forcePathStyle: true });

export default pipeline({
  name: "reports",
  source: { bucket: "orders" },
  sink: objects({ client, bucket: "reports", prefix: "daily/" }),
  async handler(event, { emit }) {
    const text = await event.text();
    emit({ key: event.object.key, body: text.toUpperCase(), contentType: "text/csv" });
  },
});
