/** What is piped into a command, for `-f -`. */
import { UserError } from "#app";

/** More than this is not typed or piped by anybody. */
const LARGEST_INPUT = 256 * 1024 * 1024;

export async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LARGEST_INPUT) throw new UserError(`standard input is larger than ${LARGEST_INPUT} bytes`);
  }
  return Buffer.concat(chunks).toString("utf8");
}
