import { DatabaseSync } from "node:sqlite";
import { pipeline } from "tidegate";

const search = new DatabaseSync(process.env.SEARCH_DB ?? "search.db");
search.exec("CREATE TABLE IF NOT EXISTS found (record TEXT PRIMARY KEY, fence INTEGER, text TEXT)");
const put = search.prepare(`INSERT INTO found AS f VALUES (?, ?, ?)
  ON CONFLICT (record) DO UPDATE SET fence = excluded.fence, text = excluded.text
  WHERE excluded.fence >= f.fence`);

export default pipeline({
  name: "search",
  source: { bucket: "documents" },
  async handler(event, { emit }) {
    emit(await event.text());
  },
  sink([text], { key, fence, signal }) {
    signal.throwIfAborted();
    put.run(key, fence, String(text));
  },
});
