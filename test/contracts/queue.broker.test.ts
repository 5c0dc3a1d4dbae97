import { createBrokerQueue } from "../../src/cloud/broker-queue.ts";
import { describeQueue } from "./queue.ts";

describeQueue({
  name: "in process",
  async open(cloud, queue) {
    return createBrokerQueue(cloud.broker, { queue });
  },
});
