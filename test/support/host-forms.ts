// Host forms: names and addresses under which a page can try to reach a server on 127.0.0.1, and
// which of them such a server answers. Tests of the host guard and of real browsers share it.

/** "signed": only requests with a signature header. */
type Answered = "always" | "never" | "signed";

interface HostForm {
  /** As a page writes it. */
  readonly written: string;
  /** As a browser sends it; `null` if it sends no request at all. */
  readonly sent: string | null;
  readonly answered: Answered;
  /** The answer to the form as it is written, which only other clients than browsers send. */
  readonly rawAnswered?: Answered;
}

function form(written: string, answered: Answered, sent: string | null = written): HostForm {
  return { written, sent, answered };
}

/** A browser normalises it to a loopback address; the raw form is refused. */
function normalised(written: string, sent: string): HostForm {
  return { written, sent, answered: "always", rawAnswered: "never" };
}

export const HOST_FORMS: readonly HostForm[] = [
  form("127.0.0.1", "always"),
  form("127.0.0.2", "always"),
  form("127.255.255.254", "always"),
  form("[::1]", "always"),
  form("localhost", "always"),
  form("LOCALHOST", "always", "localhost"),
  form("localhost.", "always"),
  form("bucket.localhost", "always"),
  form("bucket.s3.localhost", "always"),
  normalised("2130706433", "127.0.0.1"),
  normalised("0177.0.0.1", "127.0.0.1"),
  normalised("0x7f.0.0.1", "127.0.0.1"),
  normalised("0x7f000001", "127.0.0.1"),
  normalised("127.1", "127.0.0.1"),
  normalised("127.0.1", "127.0.0.1"),
  form("127.0.0.1.", "always", "127.0.0.1"),
  normalised("[0:0:0:0:0:0:0:1]", "[::1]"),
  form("0.0.0.0", "never"),
  form("0", "never", "0.0.0.0"),
  form("[::]", "never"),
  form("[::ffff:127.0.0.1]", "never", "[::ffff:7f00:1]"),
  form("[::ffff:7f00:1]", "never"),
  form("[::ffff:0:127.0.0.1]", "never", "[::ffff:0:7f00:1]"),
  form("[64:ff9b::7f00:1]", "never"),
  form("10.0.0.7", "never"),
  form("192.168.1.1", "never"),
  form("128.0.0.1", "never"),
  form("[fe80::1]", "never"),
  form("127.0.0.256", "never", null),
  form("1.127.0.0.1", "never", null),
  form("evil.test", "never"),
  form("localhost.evil.test", "never"),
  form("127.0.0.1.evil.test", "never"),
  form("amazonaws.com.evil.test", "never"),
  form("evilamazonaws.com", "never"),
  form("amazonaws.com", "signed"),
  form("sqs.us-east-1.amazonaws.com", "signed"),
  form("sns.us-east-1.amazonaws.com", "signed"),
  form("vault.s3.us-east-1.amazonaws.com", "signed"),
  form("ec2-127-0-0-1.compute-1.amazonaws.com", "signed"),
];
