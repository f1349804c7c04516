/** Answers that are bytes as they come, at the pace of their reader. */
import type { ByteStream } from "../resource.ts";
import type { Response } from "./messages.ts";

export async function sendStream({ contentType, body }: ByteStream, response: Response): Promise<void> {
  if (!body) {
    response.statusCode = 204;
    response.end();
    return;
  }
  response.statusCode = 200;
  response.setHeader("Content-Type", contentType);
  // Who follows a log wants to know that it is open, long before there is a line.
  response.flushHeaders();
  for await (const piece of body) {
    if (!response.write(piece)) await drained(response);
    if (response.destroyed) return;
  }
  response.end();
}

function drained(response: Response): Promise<void> {
  return new Promise((resolve) => {
    response.once("drain", resolve);
    response.once("close", resolve);
  });
}
